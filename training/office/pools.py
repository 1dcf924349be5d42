"""Pools of words for values: those of `data/pools.toml`, and those of the generators."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from ragcache.evaluation.generators import pools


def table(name: str) -> Mapping[str, Any]:
    """A file of `data/`."""
    return tomllib.loads((files(__package__) / "data" / f"{name}.toml").read_text("utf-8"))


@cache
def _pools() -> Mapping[str, tuple[str, ...]]:
    shared = {
        "job": pools.JOBS, "hobby": pools.HOBBIES, "food": pools.FOODS, "animal": pools.ANIMALS,
        "language": pools.LANGUAGES, "skill": pools.SKILLS, "colour": pools.COLOURS,
        "material": pools.MATERIALS, "cause": pools.CAUSES, "tool": pools.TOOLS, "group": pools.GROUPS,
    }  # fmt: skip
    own = {name: tuple(text.strip() for text in block.split(",")) for name, block in table("pools").items()}
    return {**shared, **own}


def pool_names() -> frozenset[str]:
    """Every pool there is."""
    return frozenset(_pools())


def pool(name: str) -> tuple[str, ...]:
    """The words of a pool."""
    return _pools()[name]
