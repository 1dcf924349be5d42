"""Lines through refresh times."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benching.test_measure import LOAD

from ragcache.benching.scaling import Fit, scaling
from ragcache.benching.systems import parse_system
from ragcache.engine import LoadedModel
from ragcache.errors import ConfigError


def test_a_line_is_found_again() -> None:
    fit = Fit.through("dual", [(rows, 0.5 + 0.25 * rows) for rows in (100.0, 200.0, 800.0)])
    assert (fit.slope_s, fit.intercept_s, fit.r2) == pytest.approx((0.25, 0.5, 1.0))


def test_what_is_no_line_fits_less() -> None:
    assert Fit.through("dual", [(1.0, 1.0), (2.0, 4.0), (3.0, 2.0), (4.0, 16.0)]).r2 < 0.9


def test_one_length_makes_no_line() -> None:
    with pytest.raises(ConfigError, match="two prompts of different length"):
        Fit.through("dual", [(5.0, 1.0), (5.0, 2.0)])


def test_lengths_beyond_the_window_are_left_out(model: LoadedModel) -> None:
    load = replace(LOAD, canvas=4)
    fit = scaling(model, parse_system("dual", 3), load, prompts=(60, 120, 4096))
    assert [rows for rows, _ in fit.points] == [64, 124]
