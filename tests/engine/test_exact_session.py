"""DiffusionGemma from its folder to an answer: the affix in front is reused exactly, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from engine.asks import RIVER, TOWN, ask_about, ask_with, check_sums
from engine.tiny_checkpoint import write_tokenizer

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Engine, LoadedModel, Request, load
from ragcache.engine.exact_session import NOT_IN_FRONT, TWICE
from ragcache.errors import ConfigError, PromptTooLongError
from ragcache.prompt import Affix, Prompt
from ragcache.registry import Maker, Registry
from reference.gemma import CANVAS, write_gemma

pytest.importorskip("transformers")

OPTIONS = DecodingOptions(max_tokens=CANVAS + 3)


def loaded(folder: Path, seed: int = 0) -> LoadedModel:
    return load(str(write_gemma(folder, write_tokenizer(folder), seed)), device="cpu")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    return loaded(tmp_path_factory.mktemp("gemma"))


def asked(policy: str, seed: int = 0, system: str | None = None) -> Request:
    """Two documents in front, and one behind a long question."""
    front = (Affix("river", RIVER), "\n", Affix("town", TOWN))
    prompt = Prompt.user(*front, "How long is it? " * 8, Affix("late", RIVER + TOWN), system=system)
    return replace(ask_with(policy, options=replace(OPTIONS, seed=seed)), prompt=prompt)


def test_the_prefix_from_the_store_changes_no_token(model: LoadedModel, store: Path) -> None:
    with Engine(model) as engine:
        full = [engine.submit(asked("full", seed)).result() for seed in (1, 2)]
        bare = engine.generate([asked("direct", seed) for seed in (1, 2)])
    with Registry(store) as registry, Engine(model, registry) as engine:
        cold = [engine.submit(asked("direct", seed)).result() for seed in (1, 2)]
    with Registry(store) as registry, Engine(model, registry) as engine:  # pages from the disk, as a batch
        warm = engine.generate([asked("direct", seed) for seed in (1, 2)])
    tokens = [one.token_ids for one in full]
    assert tokens == [one.token_ids for one in bare]
    assert tokens == [one.token_ids for one in cold] == [one.token_ids for one in warm]
    assert tokens[0] != tokens[1]
    assert [use.status for use in cold[0].reuse.affixes] == ["built", "built", "skipped"]
    for one in warm:
        check_sums(one, one.reuse.prompt_tokens)
        assert [use.status for use in one.reuse.affixes] == ["hit", "hit", "skipped"]
        assert one.reuse.affixes[2].reason == NOT_IN_FRONT
        assert one.reuse.reused == sum(use.tokens for use in one.reuse.affixes[:2]) > 0
        assert one.reuse.recomputed == 0
        assert one.live_rows < full[0].live_rows
        assert one.full_rows == one.rows + one.reuse.reused
        assert len(one.token_ids) <= OPTIONS.max_tokens


def test_a_page_serves_one_place_of_one_model(model: LoadedModel, store: Path, tmp_path: Path) -> None:
    other = loaded(tmp_path, seed=1)
    with Registry(store) as registry:
        for own in (model, other):
            with Engine(own, registry) as engine:
                answers = engine.generate([asked("direct"), asked("full")])
                assert answers[0].reuse.affixes[0].status == "built"  # not the other model's
                assert answers[0].token_ids == answers[1].token_ids
        with Engine(model, registry) as engine:
            behind = engine.generate([asked("direct", system="Be short."), asked("full", system="Be short.")])
            again = engine.submit(asked("direct")).result()
    assert behind[0].reuse.affixes[0].status == "built"  # not the page of another place
    assert behind[0].token_ids == behind[1].token_ids
    assert again.reuse.affixes[0].status == "hit"


def test_pages_are_exported_with_their_places_and_imported(
    model: LoadedModel, store: Path, tmp_path: Path
) -> None:
    maker, bundle = Maker(model.fingerprint, model.tokenizer.fingerprint), tmp_path / "bundle"
    with Registry(store) as registry, Engine(model, registry) as engine:
        registry.register("river", RIVER)
        registry.register("town", TOWN)
        engine.generate([asked("direct"), asked("direct", system="Be short.")])
        exported = registry.export_affixes(["river", "town"], bundle, maker)
    with Registry(tmp_path / "second") as registry, Engine(model, registry) as engine:
        imported = registry.import_affixes(bundle, maker)
        for system in (None, "Be short."):
            moved, full = engine.generate([asked(policy, system=system) for policy in ("direct", "full")])
            assert [use.status for use in moved.reuse.affixes] == ["hit", "hit", "skipped"]
            assert moved.token_ids == full.token_ids
        elsewhere, full = engine.generate([asked(policy, system="Be kind.") for policy in ("direct", "full")])
    assert exported.pages == imported.pages == 4  # of two texts, each in two places
    assert elsewhere.reuse.affixes[0].status == "built"  # none of the four is of this place
    assert elsewhere.token_ids == full.token_ids


def test_an_affix_before_itself_is_skipped(model: LoadedModel) -> None:
    with Engine(model) as engine:
        requests = [replace(ask_with(policy, RIVER, RIVER), options=OPTIONS) for policy in ("direct", "full")]
        answers = engine.generate(requests)
    assert [use.reason for use in answers[0].reuse.affixes][1] == TWICE
    assert answers[0].token_ids == answers[1].token_ids


def test_warmed_texts_begin_a_message(model: LoadedModel, registry: Registry) -> None:
    with Engine(model, registry) as engine:
        engine.warm([RIVER])
        request = asked("direct")
        sections = engine.preview(request).sections
        assert [section.status for section in sections if section.name] == ["hit", "missing", "skipped"]
        assert engine.submit(request).result().reuse.affixes[0].status == "hit"


@pytest.mark.parametrize(
    "policy", ["acache@0.3", "depth=1", "direct+contextual", "adaptive@0.9", "direct+once"]
)
def test_what_it_cannot_do_is_said(model: LoadedModel, policy: str) -> None:
    with Engine(model) as engine, pytest.raises(ConfigError, match="use policy direct, or full"):
        engine.submit(asked(policy)).result()


def test_the_usual_policies_mean_direct(model: LoadedModel) -> None:
    with Engine(model) as engine:
        answers = engine.generate([replace(asked("auto"), policy=None), asked("auto"), asked("direct+min=9")])
    assert [one.policy for one in answers] == ["direct", "direct", "direct+min=9"]


def test_other_refusals(model: LoadedModel) -> None:
    with Engine(model) as engine:
        with pytest.raises(ConfigError, match="codec 'int8' rounds"):
            engine.submit(replace(asked("direct"), codec="int8")).result()
        with pytest.raises(ConfigError, match="sampler of its own"):
            engine.submit(ask_about(RIVER, options=DecodingOptions(temperature=0.5), budget=0.0)).result()
        with pytest.raises(PromptTooLongError, match="over the model's window of 512"):
            engine.submit(ask_about(*[TOWN] * 20, options=OPTIONS, budget=0.0)).result()
    with pytest.raises(ConfigError, match="ask it with ragcache ask"):
        _ = model.mask_predictor


def test_trace_compare_and_stream(model: LoadedModel) -> None:
    request = replace(asked("direct"), trace=True, compare=True, keep_logits=True)
    with Engine(model) as engine:
        stream, pieces = engine.stream(request), list[str]()
        while True:
            try:
                pieces.append(next(stream))
            except StopIteration as end:
                answer = end.value
                break
    assert "".join(pieces) == answer.text
    assert answer.trace is not None
    assert [step.kind for step in answer.trace.steps].count("refresh") == answer.refreshes
    assert answer.first_logits is not None
    assert answer.first_logits.shape == (CANVAS, model.predictor.config.embedding_rows)
