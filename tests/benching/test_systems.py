"""Systems by name."""

from __future__ import annotations

import pytest

from ragcache.benching.systems import parse_system, parse_systems
from ragcache.cli.bench import SYSTEMS
from ragcache.errors import ConfigError
from ragcache.reuse.policy import Full, parse_policy


def test_baselines_reuse_nothing_and_differ_in_their_cache() -> None:
    none, dual = parse_system("none", 4), parse_system("dual", 4)
    assert (none.policy, none.cache) == (Full, "none")
    assert (dual.policy, dual.cache) == (Full, "dual")


def test_any_policy_is_a_system_and_may_name_its_cache() -> None:
    assert parse_system("acache@0.2", 4).policy == parse_policy("acache@0.2")
    windowed = parse_system("direct/window@8", 4)
    assert (windowed.policy.name, windowed.cache) == ("direct", "window@8")


def test_half_the_depth_is_that_of_the_model() -> None:
    assert parse_system("depth=half+acache@0.2", 14).policy == parse_policy("depth=7+acache@0.2")


def test_dual_always_runs_first_and_once() -> None:
    assert [system.name for system in parse_systems("direct, dual,direct", 4)] == ["dual", "direct"]
    assert parse_systems(SYSTEMS, 4)[0].name == "dual"


@pytest.mark.parametrize("name", ["magic", "direct/magic", "acache@7", ""])
def test_unknown_systems_are_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(ConfigError, match=r"known: none, dual, or POLICY.*acache@BUDGET"):
        parse_system(name, 4)
