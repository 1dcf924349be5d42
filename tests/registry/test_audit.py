from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest

from ragcache.errors import ConfigError
from ragcache.registry import AffixKey, Registry
from ragcache.registry.audit import Comparison, audit, mann_whitney


def test_mann_whitney_against_worked_examples() -> None:
    # U by counting pairs, 3 of 25; z = (3 - 12.5) / sqrt(25 / 12 * 11)
    p_value, share = mann_whitney([1, 2, 3, 5, 7], [4, 6, 8, 9, 10])
    assert share == pytest.approx(3 / 25)
    assert p_value == pytest.approx(0.047202, abs=1e-6)
    assert mann_whitney([1, 1, 1], [1, 1, 1]) == (1.0, 0.5)
    p_value, share = mann_whitney([1, 2, 2, 3], [2, 3, 3, 4])  # ties
    assert share == pytest.approx(3 / 16)
    assert p_value == pytest.approx(0.12916, abs=1e-5)


def test_mann_whitney_is_calibrated_and_has_power() -> None:
    chance = random.Random(3)
    same = [mann_whitney(*([chance.gauss(0, 1) for _ in range(40)] for _ in range(2)))[0] for _ in range(300)]
    assert 0.01 < sum(p < 0.05 for p in same) / 300 < 0.1
    shifted = mann_whitney([chance.gauss(1, 1) for _ in range(100)], [chance.gauss(0, 1) for _ in range(100)])
    assert shifted[0] < 1e-6
    assert shifted[1] > 0.6


class Leaky(Registry):
    """Looks into all namespaces, as a cache without a salt does."""

    def get(self, key: AffixKey, **options):  # type: ignore[no-untyped-def]
        return super().get(replace(key, namespace="a"), **options)


class CountedClock:
    """Time passes with the work that lookups do: exact, on any machine."""

    def __init__(self, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        find = registry._find
        noise = itertools.cycle([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])

        def counted(key: AffixKey, text: str, *, far: bool):  # type: ignore[no-untyped-def]
            found = find(key, text, far=far)
            self.now += (1.0 if found is None else 2.0) + next(noise)
            return found

        monkeypatch.setattr(registry, "_find", counted)

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("kind", "verdict"), [(Registry, "separate"), (Leaky, "leak")])
def test_audit_tells_a_leak_from_none(
    path: Path, kind: type[Registry], verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kind(path) as registry:
        clock = CountedClock(registry, monkeypatch)
        report = audit(registry, victim="a", attacker="b", trials=60, clock=clock)
        assert report.verdict == verdict
        assert report.within.tells
        assert registry.stats().entries == 0  # nothing planted is left


def test_audit_with_real_times(registry: Registry) -> None:
    report = audit(registry, trials=100)
    assert report.within.cached_s > 0
    assert 0 <= report.across.share <= 1
    assert report.within.cached_s > report.within.absent_s  # a hit opens a file


def test_a_probe_without_power_is_inconclusive() -> None:
    from ragcache.registry.audit import AuditReport

    blind = Comparison(1e-6, 1e-6, 0.9, 0.5)
    assert AuditReport(20, blind, blind).verdict == "inconclusive"


@pytest.mark.parametrize("options", [{"trials": 5}, {"victim": "x", "attacker": "x"}])
def test_audit_refuses_what_cannot_be_measured(registry: Registry, options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        audit(registry, **options)  # type: ignore[arg-type]
