"""The engine tests' tiny model, whose words are one token each."""

from __future__ import annotations

from engine.fixtures import *  # noqa: F403
