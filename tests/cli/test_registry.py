"""`ragcache registry`."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ragcache.page import Page
from ragcache.registry import AffixKey, Registry

from .conftest import Run

KEY = AffixKey("nano", "words", "float32", "theta=10000", (0, 1, 2, 3))


@pytest.fixture(autouse=True)
def default_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store with the page of the name `system`, hit once."""
    monkeypatch.setenv("RAGCACHE_STORE", str(store))
    tensor = torch.ones(2, 4, 8)
    with Registry(store) as registry:
        text = registry.register("system", "Be brief.").text_digest
        registry.put(KEY, Page(torch.arange(4), (tensor,), (tensor,)), encode_s=2.0, text_digest=text)
        registry.get(KEY)


def test_stats(run: Run) -> None:
    found = run("registry", "stats", "--json").json
    assert (found["entries"], found["hits"], found["saved_s"], found["evicted"]) == (1, 1, 2.0, 0)
    assert found["namespaces"] == {"default": {"entries": 1, "size_bytes": found["tiers"]["disk"]}}
    assert found["tiers"]["disk"] > 4096
    shown = run("registry", "stats").out
    for part in ("entries: 1", "namespace default: 1 entries", "hits: 1, saving 2.000 s", "0 wanted again"):
        assert part in shown


def test_pin_and_unpin(run: Run) -> None:
    assert "hard pin for 6000 s" in run("registry", "pin", "system", "--seconds", 6000).out
    assert run("registry", "stats", "--json").json["pinned"] == {"hard": 1, "soft": 0}
    assert "unpinned" in run("registry", "unpin", "system").out
    assert "soft pin" in run("registry", "pin", "system", "--soft").out
    assert run("registry", "stats", "--json").json["pinned"] == {"hard": 0, "soft": 1}
    run("registry", "unpin", "system")
    assert "was not pinned" in run("registry", "unpin", "system").out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("pin", "sistem"), "did you mean 'system'?"),
        (("unpin", "nobody"), "no affix is called 'nobody'"),
        (("pin", "system", "--seconds", "0"), "number above 0"),
        (("pin", "system", "--seconds", "inf"), "not infinite"),
        (("pin", "system", "--namespace", "other"), "in namespace 'other'"),
        (("replay", "nowhere.jsonl"), "nowhere.jsonl: cannot be read"),
    ],
)
def test_what_cannot_be_done_is_one_line(run: Run, arguments: tuple[str, ...], part: str) -> None:
    result = run("registry", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert part in result.err


def test_gc(run: Run, store: Path) -> None:
    (store / "quarantine" / "old").write_text("123")
    expected = {"leases": 0, "orphans": 0, "quarantined": 1, "pages": 0, "freed_bytes": 3}
    assert run("registry", "gc", "--dry-run", "--json").json == expected
    assert "would remove: 0 leases, 0 orphans, 1 quarantined" in run("registry", "gc", "--dry-run").out
    assert run("registry", "gc", "--json").json == expected
    assert run("registry", "gc", "--unnamed", "--json").json["pages"] == 0
    with Registry(store) as registry:
        registry.register("system", "Be very brief.")
    assert run("registry", "gc", "--unnamed", "--json").json["pages"] == 1
    assert run("registry", "stats", "--json").json["entries"] == 0


def test_replay(run: Run, tmp_path: Path) -> None:
    line = '{"t": 0, "affixes": [{"id": "%s", "tokens": 100}]}\n'
    (tmp_path / "trace.jsonl").write_text("".join(line % name for name in "abab"))
    options = ("--limit-bytes", 1000, "--bytes-per-token", 10, "--encode-s-per-token", 0.5)
    found = run("registry", "replay", tmp_path / "trace.jsonl", *options, "--json").json
    assert [row["policy"] for row in found["policies"]] == ["lru", "lfu", "gdsf"]
    assert [row["hits"] for row in found["policies"]] == [0, 0, 0]
    assert found["costs"]["encode_s_per_token"] == 0.5
    roomy = run("registry", "replay", tmp_path / "trace.jsonl", "--json").json
    assert [row["token_hit_rate"] for row in roomy["policies"]] == [0.5] * 3
    assert "gdsf" in run("registry", "replay", tmp_path / "trace.jsonl").out


@pytest.mark.parametrize(
    ("options", "part"),
    [((), "line 1"), (("--limit-bytes", 0), "limit_bytes"), (("--bytes-per-token", 0), "bytes_per_token")],
)
def test_replay_refuses(run: Run, tmp_path: Path, options: tuple[object, ...], part: str) -> None:
    text = "{}\n" if not options else '{"t": 0, "affixes": []}\n'
    (tmp_path / "trace.jsonl").write_text(text)
    result = run("registry", "replay", tmp_path / "trace.jsonl", *options)
    assert (result.code, result.out) == (2, "")
    assert part in result.err
