"""Codecs: exact against a slow reference, small errors, and nothing misread."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from ragcache.errors import ConfigError, RegistryError
from ragcache.page import Page
from ragcache.registry import CODECS, AffixKey, Registry, codec_for
from ragcache.registry.codecs import dtype_named
from ragcache.registry.payload import TOKEN_IDS, PayloadInfo, build_header, write_payload
from reference.quantise import REFERENCE

LOSSY = tuple(REFERENCE)
TOKENS = 70  # three groups of int4, the last one smaller
# Relative errors of keys, values and hidden states of `page_of`.
BOUNDS = {"int8": (0.008, 0.010, 0.010), "fp8": (0.03, 0.03, 0.03), "int4": (0.09, 0.10, 0.10)}


def page_of(tokens: int = TOKENS, dtype: torch.dtype = torch.float32, seed: int = 0) -> Page:
    """Two layers, hidden states before the second; some channels of keys are loud, all are off zero."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    loud = torch.where(torch.arange(16) % 5 == 0, 20.0, 1.0)
    keys = tuple(((normal(2, tokens, 16) + normal(16)) * loud).to(dtype) for _ in range(2))
    values = tuple((normal(2, tokens, 16) * normal(2, tokens, 1)).to(dtype) for _ in range(2))
    return Page(torch.arange(tokens), keys, values, {1: normal(tokens, 48).to(dtype)})


def error(found: Tensor, wanted: Tensor) -> float:
    return float((found.double() - wanted.double()).norm() / wanted.double().norm())


def tensors(page: Page) -> list[Tensor]:
    return [*page.keys, *page.values, *page.hidden.values()]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_raw_is_exact(dtype: str) -> None:
    page = page_of(dtype=dtype_named(dtype))
    found = codec_for("raw").decode(page.token_ids, codec_for("raw").encode(page), dtype_named(dtype))
    assert all(torch.equal(a, b) for a, b in zip(tensors(found), tensors(page), strict=True))


@pytest.mark.parametrize("name", LOSSY)
@pytest.mark.parametrize("tokens", [1, 32, TOKENS])
def test_a_lossy_page_is_the_references(name: str, tokens: int) -> None:
    page = page_of(tokens)
    found = codec_for(name).round_trip(page)
    axes = [-2] * 2 + [-1] * 3  # keys share a scale by channel, values and hidden states by token
    for ours, given, axis in zip(tensors(found), tensors(page), axes, strict=True):
        wanted = torch.from_numpy(REFERENCE[name](given.numpy(), axis))
        assert torch.equal(ours, wanted)


@pytest.mark.parametrize("name", LOSSY)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_errors_stay_within_bounds(name: str, dtype: str) -> None:
    page = page_of(dtype=dtype_named(dtype))
    found = codec_for(name).round_trip(page)
    assert all(t.dtype == dtype_named(dtype) for t in tensors(found))
    kinds = ((found.keys, page.keys), (found.values, page.values), ((found.hidden[1],), (page.hidden[1],)))
    for (ours, given), bound in zip(kinds, BOUNDS[name], strict=True):
        assert all(0 < error(a, b) < bound for a, b in zip(ours, given, strict=True))


def test_int8_is_off_by_half_a_scale_at_most() -> None:
    page = page_of()
    found = codec_for("int8").round_trip(page)
    for ours, given in zip(found.keys, page.keys, strict=True):
        scale = given.abs().amax(dim=-2, keepdim=True) / 127
        assert ((ours - given).abs() <= scale * 0.5001).all()


def test_int8_is_the_most_exact_and_int4_the_smallest() -> None:
    page = page_of()
    errors = {name: error(codec_for(name).round_trip(page).keys[0], page.keys[0]) for name in LOSSY}
    sizes = {name: codec.stored_bytes(page) for name, codec in CODECS.items()}
    assert errors["int8"] < errors["fp8"] < errors["int4"]
    assert sizes["int4"] < sizes["int8"] == sizes["fp8"] < sizes["raw"] / 3


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_stored_bytes_are_those_of_the_tensors(name: str, dtype: str) -> None:
    page, codec = page_of(dtype=dtype_named(dtype)), codec_for(name)
    assert codec.stored_bytes(page) == sum(t.nbytes for t in codec.encode(page).values())


@pytest.mark.parametrize("name", LOSSY)
@pytest.mark.parametrize("value", [0.0, 1e-45, -3.0, 6e4])
def test_equal_values_are_kept(name: str, value: float) -> None:
    """No division by a range of nothing."""
    page = page_of()
    even = replace(page, keys=tuple(torch.full_like(k, value) for k in page.keys))
    found = codec_for(name).round_trip(even).keys[0]
    assert found.isfinite().all()
    assert torch.allclose(found, even.keys[0], rtol=2**-8, atol=1e-30)


@pytest.mark.parametrize("name", LOSSY)
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_values_that_are_not_finite_are_refused(registry: Registry, name: str, value: float) -> None:
    page = page_of()
    page.values[1][0, 3, 2] = value
    with pytest.raises(RegistryError, match=rf"v\.1 has infinite values or NaN; codec {name}"):
        registry.put(key_of(name), page)
    assert registry.stats().entries == 0


def test_int4_refuses_what_it_cannot_pair() -> None:
    page = page_of()
    with pytest.raises(RegistryError, match="pairs of channels, not 15; use int8"):
        codec_for("int4").encode(replace(page, keys=tuple(k[..., :15] for k in page.keys)))


def test_unknown_names_are_told_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="unknown codec 'zip'; choose one of: raw, int8, int4, fp8"):
        codec_for("zip")
    with pytest.raises(ConfigError, match="'float64' cannot be stored; choose one of: float32"):
        dtype_named("float64")


def key_of(codec: str, dtype: str = "float32") -> AffixKey:
    ids = tuple(range(TOKENS))
    return AffixKey("nano", "words", dtype, "theta=10000", ids, codec=codec, depths=(1,))


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("memory_bytes", [0, 10**7])
def test_what_put_returns_is_what_get_finds(path: Path, name: str, memory_bytes: int) -> None:
    page, key = page_of(dtype=torch.bfloat16), key_of(name, "bfloat16")
    with Registry(path, memory_bytes=memory_bytes) as registry:
        stored = registry.put(key, page)
        again = registry.get(key)
    with Registry(path) as registry:
        found = registry.get(key)
    wanted = tensors(codec_for(name).round_trip(page))
    for got in (stored, again, found):
        assert got is not None
        assert all(torch.equal(a, b) for a, b in zip(tensors(got), wanted, strict=True))


def test_every_codec_has_a_page_of_its_own_counted_by_its_file(registry: Registry, path: Path) -> None:
    page = page_of()
    for name in CODECS:
        registry.put(key_of(name), page)
    sizes = {row.codec: row.size_bytes for row in registry.pages()}
    assert registry.stats().size_bytes == sum(sizes.values())
    assert sorted(sizes.values()) == sorted(f.stat().st_size for f in (path / "pages").iterdir())
    assert sizes["int4"] < sizes["int8"] < sizes["raw"]


def test_the_limit_counts_what_is_on_disk(path: Path) -> None:
    """Small codecs leave room for more pages."""
    page = page_of()
    with Registry(path, limit_bytes=page.size_bytes) as registry:
        with pytest.raises(RegistryError, match="raise limit_bytes"):
            registry.put(key_of("raw"), page)
        registry.put(key_of("int8"), page)
        registry.put(key_of("int4"), page)
        assert registry.stats().entries == 2


def test_memory_counts_what_is_resident(path: Path) -> None:
    page = page_of()
    full_bytes = page.size_bytes + page.token_ids.nbytes
    with Registry(path, memory_bytes=full_bytes) as registry:
        registry.put(key_of("int8"), page)
        assert registry._memory.size_bytes == full_bytes
        registry.put(key_of("int4"), page)
        assert registry._memory.size_bytes == full_bytes  # the first has left


SPOILS: dict[str, Callable[[dict[str, Tensor]], dict[str, Tensor]]] = {
    "no scale": lambda t: {n: x for n, x in t.items() if n != "k.1.scale"},
    "no layer": lambda t: {n: x for n, x in t.items() if not n.startswith(("k.0", "v.0"))},
    "no hidden states": lambda t: {n: x for n, x in t.items() if not n.startswith("h.")},
    "one too many": lambda t: {**t, "k.0.offset": torch.zeros(1)},
    "scale of another type": lambda t: {**t, "v.0.scale": t["v.0.scale"].half()},
    "scale of another shape": lambda t: {**t, "v.0.scale": t["v.0.scale"][:, :1]},
    "scale by the other axis": lambda t: {**t, "k.0.scale": t["v.0.scale"]},
    "scale not finite": lambda t: {**t, "h.1.scale": t["h.1.scale"] * math.nan},
    "codes of another type": lambda t: {**t, "k.0": t["k.0"].float()},
    "codes of fewer tokens": lambda t: {**t, "v.0": t["v.0"][:, 1:], "v.0.scale": t["v.0.scale"][:, 1:]},
    "codes without heads": lambda t: {**t, "k.0": t["k.0"][0]},
    "a number for codes": lambda t: {**t, "k.0": t["k.0"][0, 0, 0]},
}


@pytest.mark.parametrize("name", LOSSY)
@pytest.mark.parametrize("how", SPOILS)
def test_a_payload_that_no_codec_wrote_is_quarantined_and_missed(
    path: Path, page_file: Callable[[], Path], name: str, how: str
) -> None:
    """Its digests are right, so only codec and key can tell."""
    page, key, codec = page_of(), key_of(name), codec_for(name)
    with Registry(path) as registry:
        registry.put(key, page)
    spoiled = {n: t.contiguous() for n, t in SPOILS[how](codec.encode(page)).items()}
    file = page_file()
    file.unlink()
    whole = {TOKEN_IDS: page.token_ids, **spoiled}
    header = build_header(whole, PayloadInfo(key.canonical(), 1.0, 0.0, "", "test"))
    write_payload(file, header, whole)
    with Registry(path, memory_bytes=0) as registry:
        assert registry.get(key) is None
        assert (registry.stats().quarantined, registry.stats().entries) == (1, 0)
        registry.put(key, page)
        assert registry.get(key) is not None
