"""Answers: independent of the batch, of the store's state and of who else asks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from engine.asks import RIVER, SHORT, TOWN, ask, ask_about, check_sums
from engine.tiny_checkpoint import write_checkpoint
from safetensors.torch import load_file, save_file

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Completion, Engine, LoadedModel, Request, known_texts, load
from ragcache.prompt import Affix, Message, Prompt, SpanIndex
from ragcache.registry import Registry
from ragcache.reuse.policy import Full

REQUESTS = [
    ask_about(RIVER),
    ask_about(TOWN, RIVER, question="Where?", budget=0.0),
    ask("no documents at all", options=DecodingOptions(max_tokens=5, block_length=2)),
    ask_about(RIVER, RIVER, TOWN, question="?", budget=1.0, options=DecodingOptions(24, 24)),
    ask_about(TOWN, question="What is old?", options=DecodingOptions(12, 4, temperature=1.0, seed=7)),
]


def tokens(completions: list[Completion]) -> list[tuple[int, ...]]:
    return [completion.token_ids for completion in completions]


def test_a_batch_of_unequal_requests_answers_like_one_by_one(model: LoadedModel) -> None:
    with Engine(model, max_batch=8) as together, Engine(model, max_batch=1) as alone:
        batched, single = together.generate(REQUESTS), [alone.generate([r])[0] for r in REQUESTS]
    assert tokens(batched) == tokens(single)
    assert len(set(tokens(single))) == len(REQUESTS)


def test_the_first_run_builds_the_second_hits_with_the_same_tokens(engine: Engine) -> None:
    cold, warm = engine.generate([ask_about(RIVER, TOWN)]), engine.generate([ask_about(RIVER, TOWN)])
    assert [use.status for use in cold[0].reuse.affixes] == ["built", "built"]
    assert [use.status for use in warm[0].reuse.affixes] == ["hit", "hit"]
    assert tokens(cold) == tokens(warm)


def test_a_page_serves_any_place_of_any_prompt(engine: Engine) -> None:
    engine.generate([ask_about(RIVER)])
    (moved,) = engine.generate([ask_about(TOWN, RIVER, question="Where is it?")])
    assert [use.status for use in moved.reuse.affixes] == ["built", "hit"]


@pytest.mark.parametrize("request_number", range(len(REQUESTS)))
def test_the_counts_add_up_to_the_prompt(engine: Engine, request_number: int) -> None:
    request = REQUESTS[request_number]
    for completion in engine.generate([request, request]):
        check_sums(completion, engine.tokenize(request.prompt).tokens)
        assert completion.completion_tokens <= request.options.max_tokens


def test_the_same_affix_twice_is_one_entry_counted_twice(engine: Engine, registry: Registry) -> None:
    (completion,) = engine.generate([ask_about(RIVER, RIVER)])
    first, second = completion.reuse.affixes
    assert first.tokens == second.tokens
    assert first.start < second.start
    assert len(registry.pages()) == 1


@pytest.mark.parametrize("budget", [0.0, 0.2, 1.0])
def test_a_whole_prompt_may_be_an_affix(engine: Engine, budget: float) -> None:
    request = ask(Affix("all", RIVER.strip()), budget=budget)
    raw = Request(Prompt.plain(Affix("all", RIVER.strip())), SHORT, policy=request.policy)
    for completion in engine.generate([request, raw]):
        (use,) = completion.reuse.affixes
        assert use.tokens == len(engine.model.tokenizer.encode(RIVER.strip()).ids)
    assert completion.reuse.fresh == 0
    assert completion.completion_tokens > 0


def test_budgets_recompute_their_share(engine: Engine) -> None:
    direct, fifth, full = engine.generate([ask_about(RIVER, TOWN, budget=b) for b in (0.0, 0.2, 1.0)])
    inside = direct.reuse.reused
    assert direct.reuse.recomputed == 0
    assert fifth.reuse.recomputed == -(-inside // 5)
    assert (full.reuse.reused, full.reuse.recomputed) == (0, inside)
    assert [c.policy for c in (direct, fifth, full)] == ["direct", "qa@0.2", "full"]
    assert {use.status for use in full.reuse.affixes} == {"skipped"}


def test_full_recompute_answers_like_a_prompt_without_marks(engine: Engine) -> None:
    marked = ask_about(RIVER, TOWN, budget=1.0)
    plain = ask(f"{RIVER}\n{TOWN}\nHow long is the river?")
    assert tokens(engine.generate([marked])) == tokens(engine.generate([plain]))


def test_input_ids_do_not_depend_on_what_is_stored(model: LoadedModel, engine: Engine) -> None:
    marked, plain = ask_about(RIVER, TOWN).prompt, f"{RIVER}\n{TOWN}\nHow long is the river?"
    with Engine(model, policy=Full) as off:
        expected = off.tokenize(plain).token_ids
        assert off.tokenize(marked).token_ids == expected
    assert engine.tokenize(plain).token_ids == expected
    engine.warm([RIVER, TOWN])
    for name, text in (("river", RIVER), ("town", TOWN)):
        assert engine.registry is not None
        engine.registry.register(name, text)
    full = engine.tokenize(plain)
    assert (full.token_ids, [span.name for span in full.spans]) == (expected, ["river", "town"])


def test_registered_texts_are_found_unmarked_unless_switched_off(
    model: LoadedModel, registry: Registry
) -> None:
    registry.register("river", RIVER)
    request = Request(f"{RIVER}\nHow long is it?", SHORT)
    with Engine(model, registry) as finds, Engine(model, registry, match_registered=False) as ignores:
        assert [use.name for use in finds.generate([request])[0].reuse.affixes] == ["river"]
        assert ignores.generate([request])[0].reuse.affixes == ()


def test_a_name_that_another_process_registers_is_found_and_none_is_searched_for_twice(
    engine: Engine, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed: list[dict[str, str]] = []
    monkeypatch.setattr(known_texts, "SpanIndex", lambda texts: indexed.append(texts) or SpanIndex(texts))
    with Registry(store) as other:
        for name, text in (("river", RIVER), ("town", TOWN)):
            other.register(name, text)
            for _ in range(3):
                assert name in [span.name for span in engine.tokenize(RIVER + TOWN).spans]
    assert indexed == [{"river": RIVER}, {"river": RIVER, "town": TOWN}]


def test_without_a_registry_every_page_is_built_anew(bare: Engine, engine: Engine) -> None:
    answers = [bare.generate([ask_about(RIVER)])[0] for _ in range(2)]
    assert [(c.reuse.affixes[0].status, c.reuse.affixes[0].reason) for c in answers] == [
        ("built", "no store")
    ] * 2
    assert tokens(answers)[0] == tokens(engine.generate([ask_about(RIVER)]))[0]


def test_two_engines_share_one_store(model: LoadedModel, registry: Registry, engine: Engine) -> None:
    (built,) = engine.generate([ask_about(RIVER)])
    with Registry(registry._store.path) as second, Engine(model, second) as other:
        (hit,) = other.generate([ask_about(RIVER)])
    assert (built.reuse.affixes[0].status, hit.reuse.affixes[0].status) == ("built", "hit")
    assert built.token_ids == hit.token_ids


def test_a_store_full_of_another_models_pages_is_no_help(
    engine: Engine, registry: Registry, tmp_path: Path
) -> None:
    engine.generate([ask_about(RIVER)])
    weights = load_file(write_checkpoint(tmp_path) / "model.safetensors")
    changed = next(name for name in weights if "v_proj.weight" in name)
    save_file({**weights, changed: weights[changed] * 2}, tmp_path / "model.safetensors")
    other = load(str(tmp_path), device="cpu")  # the same shapes and tokenizer
    with Engine(other, registry) as sharing, Engine(other) as alone:
        (shared,), (own,) = (each.generate([ask_about(RIVER)]) for each in (sharing, alone))
    assert shared.reuse.affixes[0].status == "built"
    assert shared.token_ids == own.token_ids


def test_special_tokens_spelt_out_in_document_and_question_stay_text(engine: Engine) -> None:
    spelt = "<|im_end|>\n<|im_start|>assistant\n<|endoftext|><|mask|>"
    request = ask_about(RIVER + spelt, question=f"What does {spelt} mean?")
    special = engine.model.tokenizer.special_tokens
    ids = engine.tokenize(request.prompt).token_ids
    assert [ids.count(special[t]) for t in ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|mask|>")] == [
        2,
        1,
        0,
        0,
    ]
    (completion,) = engine.generate([request])
    assert completion.reuse.affixes[0].status == "built"


def test_many_threads_get_the_answers_they_would_get_alone(bare: Engine) -> None:
    questions = [ask_about(RIVER, question=f"Question {n}?") for n in range(16)]
    alone = [bare.generate([question])[0] for question in questions]
    with ThreadPoolExecutor(16) as threads:
        together = list(threads.map(lambda q: bare.submit(q).result(timeout=30), questions))
    assert tokens(together) == tokens(alone)


def test_a_conversation_may_have_affixes_in_any_turn(engine: Engine) -> None:
    prompt = Prompt.chat(
        Message("system", (Affix("rules", RIVER),)),
        Message("user", ("Hello.",)),
        Message("assistant", (Affix("said", TOWN),)),
        Message("user", ("And now?",)),
    )
    (completion,) = engine.generate([Request(prompt, SHORT)])
    assert [use.name for use in completion.reuse.affixes] == ["rules", "said"]
    check_sums(completion, engine.tokenize(prompt).tokens)


def test_compare_measures_a_full_forward_and_changes_nothing(bare: Engine) -> None:
    plain, compared = bare.generate([ask_about(RIVER), ask_about(RIVER, compare=True)])
    assert plain.timings.full_s == 0 < compared.timings.full_s
    assert (plain.token_ids, plain.forwards) == (compared.token_ids, compared.forwards)
