"""Lines through refresh times."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benching.test_measure import LOAD

from ragcache.benching.load import Load
from ragcache.benching.scaling import PROMPTS, Fit, scaling
from ragcache.benching.systems import parse_system
from ragcache.benching.workloads import DocQA
from ragcache.engine import LoadedModel
from ragcache.errors import ConfigError
from ragcache.model.random_weights import random_config


def test_a_line_is_found_again() -> None:
    fit = Fit.through("dual", (1, 2, 8), [(rows, 0.5 + 0.25 * rows) for rows in (100.0, 200.0, 800.0)])
    assert (fit.slope_s, fit.intercept_s, fit.r2) == pytest.approx((0.25, 0.5, 1.0))
    assert fit.off == pytest.approx(0.0)


def test_what_is_no_line_fits_less() -> None:
    fit = Fit.through("dual", (1, 2, 3, 4), [(1.0, 1.0), (2.0, 4.0), (3.0, 2.0), (4.0, 16.0)])
    assert fit.r2 < 0.9
    assert fit.off > 1.0


def test_a_small_point_far_off_shows_though_the_line_fits_the_large_ones() -> None:
    fit = Fit.through("dual", (1, 2, 3), [(1.0, 2.0), (1000.0, 500.0), (2000.0, 1000.0)])
    assert fit.r2 > 0.999
    assert fit.off > 0.1


def test_one_length_makes_no_line() -> None:
    with pytest.raises(ConfigError, match="two prompts of different length"):
        Fit.through("dual", (5, 5), [(5.0, 1.0), (5.0, 2.0)])


def test_lengths_beyond_the_window_are_left_out(model: LoadedModel) -> None:
    load = replace(LOAD, canvas=4)
    fit = scaling(model, parse_system("dual", 3), load, prompts=(60, 120, 4096))
    assert [rows for rows, _ in fit.points] == [64, 124]
    assert fit.prompts == (60, 120)


def test_half_a_thousand_to_eight_thousand_tokens_fit_random_weights() -> None:
    assert (PROMPTS[0], PROMPTS[-1]) == (512, 8192)
    assert max(PROMPTS) + Load(DocQA()).canvas <= random_config().max_tokens
