"""What the registry costs beside the plain way: `python -m benchmarks.registry`.

One affix of LLaDA-8B's shape (512 KiB a token in bfloat16), random values. The plain way is safetensors'
`load_file`, a dict of names, a file that is written and synced. Everything runs on one thread, ours and plain
take turns, figures are medians. Codecs are measured on pages that nano makes of the handbook.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table
from safetensors.torch import load_file, save_file
from torch import Tensor

from benchmarks.codec_errors import CodecError, codec_errors
from benchmarks.figures import Figure, table_of, timed, turns
from ragcache.page import Page
from ragcache.registry import CODECS, AffixKey, Registry

LAYERS, HEADS, HEAD_DIM = 32, 32, 128


def affix(tokens: int) -> tuple[AffixKey, Page]:
    """A page of random values, and its key."""
    generator = torch.Generator().manual_seed(0)
    shape = (HEADS, tokens, HEAD_DIM)
    made = [torch.randn(shape, generator=generator).bfloat16() for _ in range(2 * LAYERS)]
    key = AffixKey("random", "none", "bfloat16", "none", tuple(range(tokens)))
    return key, Page(torch.arange(tokens), tuple(made[:LAYERS]), tuple(made[LAYERS:]))


def touch(tensors: Iterable[Tensor]) -> int:
    """Read every byte."""
    return sum(int(tensor.view(torch.int64).sum()) for tensor in tensors)


def touch_page(page: Page | None) -> Page:
    """Read every byte of a page that is there."""
    assert page is not None, "the benchmark's own page is missing from its store"
    touch((*page.keys, *page.values))
    return page


def warm_load(folder: Path, key: AffixKey, page: Page, repeats: int) -> list[Figure]:
    """A page that was checked before and is in the page cache, against copying its bytes."""
    source = torch.cat([tensor.flatten() for tensor in (*page.keys, *page.values)])
    target = source.clone()
    plain = folder / "plain.safetensors"
    save_file({f"t.{i}": t for i, t in enumerate((*page.keys, *page.values))}, plain)
    with Registry(folder / "warm", memory_bytes=0) as registry, Registry(folder / "warm") as remembering:
        for opened in (registry, remembering):
            opened.put(key, page)
        seconds = turns(
            repeats,
            load=lambda: timed(lambda: touch_page(registry.get(key))),
            memory=lambda: timed(lambda: touch_page(remembering.get(key))),
            memcpy=lambda: timed(lambda: touch([target.copy_(source)])),
            plain=lambda: timed(lambda: touch(load_file(plain).values())),
        )
    return [
        Figure("warm load: speed of a memcpy", seconds["memcpy"] / seconds["load"], "x", 0.8),
        Figure("warm load", seconds["load"] * 1e3, "ms"),
        Figure("warm load from the memory tier", seconds["memory"] * 1e3, "ms"),
        Figure("memcpy", seconds["memcpy"] * 1e3, "ms"),
        Figure("load_file", seconds["plain"] * 1e3, "ms"),
    ]


def lookups(folder: Path, entries: int, repeats: int) -> list[Figure]:
    """Names and small pages among many, against a dict."""
    names = [f"document {number}" for number in range(entries)]
    plain = {name: f"The text of {name}." for name in names}
    keys = [AffixKey("small", "none", "float32", "none", (number,)) for number in range(entries)]
    tensors = (torch.zeros(1, 1, 8),)
    with Registry(folder / "many", memory_bytes=0) as registry:
        for (name, text), key in zip(plain.items(), keys, strict=True):
            registry.register(name, text)
            registry.put(key, Page(torch.tensor(key.token_ids), tensors, tensors))
        order = torch.randperm(entries, generator=torch.Generator().manual_seed(1)).tolist()
        tries = [order[number % entries] for number in range(max(100, 100 * repeats))]
        found = median(timed(partial(registry.lookup, names[number])) for number in tries)
        opened = median(timed(partial(registry.get, keys[number])) for number in tries)
    known = median(timed(partial(plain.get, names[number])) for number in tries)
    return [
        Figure(f"lookup among {entries} names", found * 1e6, "us", 100.0, at_most=True),
        Figure(f"page found among {entries}", opened * 1e6, "us"),
        Figure("lookup in a dict", known * 1e6, "us"),
    ]


def write_synced(path: Path, page: Page) -> None:
    """The page's bytes in a new file, through to the disk."""
    with path.open("wb") as file:
        for tensor in (*page.keys, *page.values):
            file.write(tensor.flatten().view(torch.uint8).numpy().data)
        file.flush()
        os.fsync(file.fileno())
    path.unlink()


def puts(folder: Path, key: AffixKey, page: Page, repeats: int) -> list[Figure]:
    """Storing a page, checked and read back, against writing its bytes."""
    number = count()
    limit_bytes = 2 * page.size_bytes + 2**20  # the page before the last is evicted, as in a full store
    with Registry(folder / "puts", memory_bytes=0, limit_bytes=limit_bytes) as registry:

        def put() -> float:
            fresh = replace(key, context=f"round {next(number)}")
            return timed(lambda: registry.put(fresh, page))

        raw = partial(timed, partial(write_synced, folder / "raw.bin", page))
        seconds = turns(repeats, put=put, raw=raw)
    return [
        Figure("put: speed of write + fsync", seconds["raw"] / seconds["put"], "x", 0.5),
        Figure("put", seconds["put"] * 1e3, "ms"),
        Figure("write + fsync", seconds["raw"] * 1e3, "ms"),
    ]


def forget(folder: Path) -> None:
    """Drop the page cache of all page files, so that reading them reads the disk."""
    for path in folder.rglob("*.safetensors"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cold_loads(folder: Path, key: AffixKey, page: Page, repeats: int) -> list[Figure]:
    """First load in a process, from the disk, digests checked, into the model's type; one for each codec."""
    store = folder / "cold"
    with Registry(store, memory_bytes=0) as registry:
        for name in CODECS:
            registry.put(replace(key, codec=name), page)

    def load(codec: str) -> float:
        forget(store)
        with Registry(store, memory_bytes=0) as registry:
            return timed(lambda: touch_page(registry.get(replace(key, codec=codec))))

    seconds = turns(repeats, **{name: partial(load, name) for name in CODECS})
    return [
        Figure("cold int8: speed of cold raw", seconds["raw"] / seconds["int8"], "x", 1.0),
        *(Figure(f"cold load, {name}", value * 1e3, "ms") for name, value in seconds.items()),
    ]


def report(figures: list[Figure], errors: list[CodecError], about: Mapping[str, object]) -> None:
    """Two tables, then one line of JSON."""
    codecs = Table("codec", "bytes of raw's", "error of K", "of V", "of hidden states")
    for row in errors:
        codecs.add_row(row.codec, *(f"{value:.4f}" for value in (row.size, row.keys, row.values, row.hidden)))
    console = Console(width=100)
    console.print(table_of(figures), codecs)
    values = {f"{f.name} ({f.unit})": float(f"{f.value:.4g}") for f in figures}
    missed = [figure.name for figure in figures if figure.met == "no"]
    print(json.dumps({**about, **values, "missed": missed, "codecs": [row.as_json() for row in errors]}))


def main(
    tokens: Annotated[int, typer.Option(help="Of the affix, half a MiB each.")] = 128,
    entries: Annotated[int, typer.Option(help="Names, and pages, to look one up among.")] = 10_000,
    repeats: Annotated[int, typer.Option(help="Rounds that count.")] = 7,
    folder: Annotated[Path | None, typer.Option(help="On the disk to measure. [default: temporary]")] = None,
) -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    key, page = affix(tokens)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name)
        figures = [
            *warm_load(place, key, page, repeats),
            *puts(place, key, page, repeats),
            *cold_loads(place, key, page, repeats),
            *lookups(place, entries, repeats),
        ]
    about = {"affix_bytes": page.size_bytes, "entries": entries, "repeats": repeats}
    report(figures, codec_errors(), about)


if __name__ == "__main__":
    typer.run(main)
