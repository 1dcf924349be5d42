"""Whether torch.compile can compile here."""

from __future__ import annotations

import shutil

import pytest

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
