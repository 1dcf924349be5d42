"""`ragcache generate` answers as the golden files do, and refuses bad cases by line and field."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ragcache.engine.loaded_model import load_fingerprint
from ragcache.engine.profiles import Profiles
from reference.tiny import GOLDEN, GOLDEN_DREAM

from .conftest import Result, Run

Generate = Callable[..., Result]
CASE: dict[str, Any] = {
    "parts": [[False, [5, 6]], [True, [7, 8, 9]]],
    "gen_length": 8,
    "block_length": 4,
    "threshold": 0.9,
}
PLAIN = [c for c in json.loads((GOLDEN / "golden.json").read_text()) if c["kind"] == "generate"]
DREAM = [c for c in json.loads((GOLDEN_DREAM / "golden.json").read_text()) if c["kind"] == "generate"]
ACACHE = json.loads((GOLDEN / "acache.json").read_text())


@pytest.fixture
def generate(run: Run, tmp_path: Path) -> Generate:
    """Runs cases, given as objects or as lines."""

    def generate(cases: Iterable[Mapping[str, Any] | str], *options: object) -> Result:
        lines = [case if isinstance(case, str) else json.dumps(case) for case in cases]
        (tmp_path / "cases.jsonl").write_text("\n".join(lines))
        return run("generate", "--model", GOLDEN, "--cases", tmp_path / "cases.jsonl", *options)

    return generate


def rows(result: Result) -> list[dict[str, Any]]:
    assert (result.code, result.err) == (0, "")
    return [json.loads(line) for line in result.out.splitlines()]


def only(case: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: case[name] for name in names}


@pytest.mark.parametrize("mode", ["none", "prefix", "dual"])
def test_plain_decoding(generate: Generate, mode: str) -> None:
    fields = ("gen_length", "block_length", "steps", "threshold", "temperature")
    cases = [{"parts": [[False, c["prompt_ids"]]], "cache": mode, **only(c, *fields)} for c in PLAIN]
    for row, case in zip(rows(generate(cases)), PLAIN, strict=True):
        assert row["tokens"] == case["result"][mode]["tokens"]
        assert row["anchors"] == []
        assert row["nfe"] <= case["result"][mode]["nfe"]


@pytest.mark.parametrize("mode", ["prefix", "dual"])
def test_plain_decoding_of_dream(generate: Generate, mode: str) -> None:
    fields = ("gen_length", "block_length", "threshold", "temperature")
    cases = [{"parts": [[False, c["prompt_ids"]]], "cache": mode, **only(c, *fields)} for c in DREAM]
    for row, case in zip(rows(generate(cases, "--model", GOLDEN_DREAM)), DREAM, strict=True):
        assert row["tokens"] == case["result"][mode]["tokens"]


def test_reuse(generate: Generate) -> None:
    fields = ("parts", "budget", "gen_length", "block_length", "threshold")
    # tests/data/README.md says why the last case is not followed
    for row, case in zip(rows(generate(only(c, *fields) for c in ACACHE)), ACACHE, strict=True):
        assert row["anchors"] == case["anchors"]
        assert row["tokens"][:10] == case["tokens"][:10]
        assert row["tokens"] == case["tokens"] or case is ACACHE[-1]


def test_a_full_budget_equals_the_uncached_run(generate: Generate) -> None:
    full = [only(c, "parts", "gen_length", "block_length", "threshold") for c in ACACHE[3::4]]
    uncached = [{**c, "parts": [[False, ids] for _, ids in c["parts"]]} for c in full]
    for row, plain, case in zip(rows(generate(full)), rows(generate(uncached)), full, strict=True):
        assert row["tokens"] == plain["tokens"]
        assert plain["anchors"] == []
        length = sum(len(ids) for is_affix, ids in case["parts"] if is_affix)
        start = len(case["parts"][0][1]) * (not case["parts"][0][0])
        assert row["anchors"] == list(range(start, start + length))


def test_policies_override_the_budget(generate: Generate) -> None:
    cases = [{**CASE, "budget": 0.5}, {**CASE, "policy": "direct"}, CASE]
    assert [len(row["anchors"]) for row in rows(generate(cases))] == [2, 0, 3]
    assert [len(row["anchors"]) for row in rows(generate(cases, "--policy", "acache@0.3"))] == [1, 1, 1]


def test_the_whole_length_is_decoded_and_no_tokenizer_is_needed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("config.json", "model.safetensors"):
        shutil.copy(GOLDEN / name, tmp_path)
    lines = io.TextIOWrapper(io.BytesIO((json.dumps({**CASE, "gen_length": 10}) + "\n\n").encode()))
    monkeypatch.setattr("sys.stdin", lines)
    [row] = rows(run("generate", "--model", tmp_path, "--cases", "-", "--dtype", "fp32"))
    assert len(row["tokens"]) == 10


def test_sampling_depends_on_the_seed_alone(generate: Generate) -> None:
    warm = [{**CASE, "temperature": 2.0, "seed": seed} for seed in (1, 1, 2)]
    one, again, other = rows(generate(warm))
    assert one == again != other


def test_sampling_may_be_narrowed(generate: Generate) -> None:
    warm = {**CASE, "temperature": 2.0, "seed": 1}
    narrow = [{**warm, "top_k": 1}, {**warm, "top_p": 1e-9}, {**warm, "temperature": 0}, warm]
    best, nucleus, cold, drawn = (row["tokens"] for row in rows(generate(narrow)))
    assert best == nucleus == cold != drawn
    by_chance = rows(generate([{**CASE, "confidence": "random", "threshold": 1.0}]))[0]
    assert by_chance["tokens"] != cold


def test_no_answer_ends_before_its_least_length(generate: Generate) -> None:
    hot = {**CASE, "temperature": 50.0, "gen_length": 64, "block_length": 32, "threshold": 0.0}
    eos = json.loads((GOLDEN / "config.json").read_text())["eos_token_id"]
    answers = [rows(generate([{**hot, "seed": s, "min_tokens": n} for s in range(4)])) for n in (0, 64)]
    free, held = ([row["tokens"] for row in found] for found in answers)
    assert any(eos in tokens for tokens in free)
    assert not any(eos in tokens for tokens in held)


def test_fixed_steps_count_over_all_blocks(generate: Generate) -> None:
    case = {**CASE, "threshold": None, "steps": 4}
    assert [row["nfe"] for row in rows(generate([case, {**case, "steps": 8}]))] == [4, 8]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"parts": []}, "'parts'"),
        ({"parts": [[1, [2]]]}, "'parts'"),
        ({"parts": [[True, []]]}, "'parts'"),
        ({"parts": [[True, [199]]]}, "'199'"),
        ({"parts": [[True, [-1]]]}, "'-1'"),
        ({"parts": [[True, [True]]]}, "'True'"),
        ({"parts": [[False, [1.0]]]}, "'1.0'"),
        ({"gen_length": 0}, "'gen_length'"),
        ({"gen_length": "8"}, "'gen_length'"),
        ({"gen_length": None}, "'gen_length' is missing"),
        ({"gen_length": 100_000}, "over the model's window"),
        ({"block_length": 2.5}, "'block_length'"),
        ({"threshold": 2}, "threshold 2.0"),
        ({"threshold": "x"}, "'threshold'"),
        ({"threshold": None}, "neither 'threshold' nor 'steps'"),
        ({"threshold": None, "steps": 1}, "'steps'"),
        ({"cache": "triple"}, "'triple'"),
        ({"cache": ["dual"]}, "cache mode ['dual']"),
        ({"budget": 1.1}, "budget 1.1"),
        ({"budget": True}, "'budget'"),
        ({"budget": 0.5, "policy": "full"}, "give one"),
        ({"policy": "magic"}, "unknown policy 'magic'"),
        ({"policy": 3}, "'policy'"),
        ({"temperature": -1}, "temperature"),
        ({"temperature": float("inf")}, "temperature"),
        ({"seed": -1}, "'seed'"),
        ({"seed": 2**64}, "'seed'"),
        ({"top_k": 0}, "top_k must be at least 1"),
        ({"top_k": 1.5}, "'top_k'"),
        ({"top_p": 2}, "top_p must be above 0"),
        ({"min_tokens": -1}, "'min_tokens'"),
        ({"confidence": "hope"}, "unknown confidence 'hope'"),
        ({"confidence": 3}, "'confidence'"),
        ({"colour": "red"}, "unknown field 'colour'"),
    ],
    ids=str,
)
def test_bad_cases_name_line_and_field(generate: Generate, change: dict[str, Any], field: str) -> None:
    result = generate([CASE, {**CASE, **change}, CASE])
    assert result.code == 2
    assert len(result.out.splitlines()) == 1  # what came before the bad line was answered
    assert result.err.startswith("error: ")
    assert "cases.jsonl, line 2: " in result.err
    assert field in result.err


@pytest.mark.parametrize("line", ["{", "[1]", "\udc80", "[" * 100_000], ids=["cut", "list", "bytes", "deep"])
def test_bad_lines(run: Run, tmp_path: Path, line: str) -> None:
    (tmp_path / "cases.jsonl").write_bytes(line.encode(errors="surrogateescape"))
    result = run("generate", "--model", GOLDEN, "--cases", tmp_path / "cases.jsonl")
    assert (result.code, result.out) == (2, "")
    assert "line 1" in result.err


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--model", "no-such"], "unknown model 'no-such'"),
        (["--cases", "nowhere.jsonl"], "nowhere.jsonl: cannot be read"),
        (["--cases", "."], "cannot be read"),
        (["--policy", "magic"], "unknown policy 'magic'"),
        (["--device", "abacus"], "unknown device"),
        (["--dtype", "fp8"], "unknown dtype 'fp8'; use auto, bf16, fp16, fp32, int8"),
    ],
)
def test_bad_options(generate: Generate, options: list[str], part: str) -> None:
    result = generate([CASE], *options)
    assert (result.code, result.out) == (2, "")
    assert part in result.err


def test_policies_measured_for_the_model_are_used(
    generate: Generate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGCACHE_PROFILES", str(tmp_path / "profiles"))
    missing = generate([CASE], "--policy", "depth")
    assert missing.code == 2
    assert "profile-depth" in missing.err
    layers, fingerprint = load_fingerprint(str(GOLDEN))
    values = {"name": "mine", "layers": layers, "entries": [[0, 1]]}
    Profiles().write(fingerprint, "depth", values)
    Profiles().write(fingerprint, "policy", {"policy": "depth=1+acache@0.4"})
    assert rows(generate([CASE], "--policy", "depth")) == rows(generate([CASE], "--policy", "depth=1"))
    [auto] = rows(generate([CASE], "--policy", "auto"))
    assert [auto] == rows(generate([CASE], "--policy", "depth=1+acache@0.4"))
    assert len(auto["anchors"]) == 2
