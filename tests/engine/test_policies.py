"""Policies through an engine: depth, contextual affixes, short affixes, anchors refreshed once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from engine.asks import RIVER, SHORT, TOWN, ask, ask_with, check_sums

from ragcache.decoding.encode import encode_affixes
from ragcache.engine import Completion, Engine, LoadedModel, Request
from ragcache.engine.profiles import Profiles
from ragcache.engine.scaffold import MASKS, scaffold_for
from ragcache.errors import ConfigError, InputError
from ragcache.page import Page
from ragcache.prompt import Affix, Message, Prompt
from ragcache.registry import Registry
from ragcache.reuse.depth import DepthTable
from ragcache.reuse.policy import Depth, Direct, ReusePolicy, parse_policy

DEPTHS = ["depth=0", "depth=1", "depth=2+acache@0.3", "depth=2+direct", "depth=3", "depth=1+once"]
MIXED = [*DEPTHS, "full", "direct", "acache@0.2", "acache@0.3+contextual", "depth=1+contextual", "first@0.4"]
RULES = Prompt.chat(
    Message("system", (Affix("rules", RIVER), "Be brief.")), Message("user", (Affix("doc", TOWN), "Where?"))
)
CONTEXTUAL = Request(RULES, SHORT, policy=parse_policy("acache@0.2+contextual"))


def statuses(completion: Completion) -> list[str]:
    return [use.status for use in completion.reuse.affixes]


def ids_of(model: LoadedModel, text: str) -> tuple[int, ...]:
    return tuple(model.tokenizer.encode(text).ids)


def stored(registry: Registry, model: LoadedModel, text: str, **how: object) -> Page | None:
    return registry.get(model.key(ids_of(model, text), **how), count=False)  # type: ignore[arg-type]


def test_short_forms_are_policies_everywhere(model: LoadedModel) -> None:
    plain = replace(ask_with("full", RIVER), policy=None)
    with Engine(model, policy="acache@0.4") as engine:
        own, asked = engine.generate([plain, replace(plain, policy="depth=1")])
        assert engine.preview(plain).policy == "acache@0.4"
        assert engine.resolve_policy("direct") == Direct
    assert (own.policy, asked.policy) == ("acache@0.4", "depth=1")
    for wrong in ("magic", "", 3):
        with pytest.raises(ConfigError, match=r"unknown policy|policy is a int"):
            Engine(model, policy=wrong)  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match=r"unknown policy|policy is a int"):
            replace(plain, policy=wrong)


@pytest.mark.parametrize("policy", DEPTHS)
def test_the_counts_of_depth_policies_add_up(engine: Engine, policy: str) -> None:
    request = ask_with(policy, RIVER, TOWN)
    cold, warm = (engine.generate([request])[0] for _ in range(2))
    for completion in (cold, warm):
        check_sums(completion, engine.tokenize(request.prompt).tokens)
        assert completion.policy == policy
    assert (statuses(cold), statuses(warm)) == (["built"] * 2, ["hit"] * 2)
    assert cold.token_ids == warm.token_ids


def test_hidden_states_survive_on_disk(model: LoadedModel, registry: Registry, engine: Engine) -> None:
    request = ask_with("depth=2+acache@0.3", RIVER)
    (built,) = engine.generate([request])
    with Registry(registry._store.path) as second, Engine(model, second) as other:
        (hit,) = other.generate([request])
        page = stored(second, model, RIVER, depths=(2,))
    assert (statuses(built), statuses(hit)) == (["built"], ["hit"])
    assert built.token_ids == hit.token_ids
    [fresh] = encode_affixes(model.predictor, [ids_of(model, RIVER)], depths=[2])
    assert page is not None
    assert list(page.hidden) == [2]
    assert torch.equal(page.hidden[2], fresh.hidden[2])


def test_another_depth_encodes_anew_and_leaves_the_first(engine: Engine, registry: Registry) -> None:
    asked = [statuses(engine.generate([ask_with(f"depth={d}", RIVER)])[0]) for d in (1, 2, 1, 2)]
    assert asked == [["built"], ["built"], ["hit"], ["hit"]]
    assert statuses(engine.generate([ask_with("direct", RIVER)])[0]) == ["built"]  # no hidden states
    assert len(registry.pages()) == 3


def test_depths_mean_what_they_say(engine: Engine) -> None:
    prompt = [RIVER, TOWN]
    full, direct, *deep = engine.generate([ask_with(p, *prompt) for p in ("full", "direct", *DEPTHS)])
    by_name = dict(zip(DEPTHS, deep, strict=True))
    inside, tokens = direct.reuse.reused, direct.reuse.prompt_tokens + SHORT.max_tokens
    assert by_name["depth=0"].token_ids == full.token_ids
    assert by_name["depth=3"].token_ids == direct.token_ids == by_name["depth=2+direct"].token_ids
    assert by_name["depth=3"].reuse.reused == inside
    assert by_name["depth=1"].reuse.recomputed == inside
    assert full.live_rows == by_name["depth=0"].live_rows == 1.0
    assert direct.live_rows == pytest.approx(1 - inside / tokens)
    assert by_name["depth=1"].live_rows == pytest.approx(1 - inside / 3 / tokens)
    anchors = -(-inside * 3 // 10)
    assert by_name["depth=2+acache@0.3"].live_rows == pytest.approx(1 - (inside - anchors / 3) / tokens)


def test_a_depth_the_model_does_not_have(bare: Engine) -> None:
    with pytest.raises(ConfigError, match="depths up to 4, the model 3"):
        bare.generate([ask_with("depth=4", RIVER)])


def test_policy_depth_uses_the_measured_table(model: LoadedModel, registry: Registry, tmp_path: Path) -> None:
    profiles = Profiles(tmp_path)
    with Engine(model, registry, profiles=profiles) as engine:
        with pytest.raises(ConfigError, match="no depth table; measure it"):
            engine.generate([ask_with("depth", RIVER)])
        values = {"name": "mine", "layers": 3, "entries": [[0, 1], [30, 2], [99, 3]]}
        profiles.write(model.fingerprint, "depth", values)
        low, high = engine.generate([ask_with("depth", RIVER, question="?" * 150), ask_with("depth", RIVER)])
        shallow, deep = (
            engine.generate([ask_with(p, RIVER, question=q)])[0]
            for p, q in (("depth=1", "?" * 150), ("depth=2", "How long is the river?"))
        )
    assert (low.policy, high.policy) == ("depth", "depth")
    assert (low.token_ids, high.token_ids) == (shallow.token_ids, deep.token_ids)
    assert (low.live_rows, high.live_rows) == (shallow.live_rows, deep.live_rows)
    assert stored(registry, model, RIVER, depths=(1, 2)) is not None  # one page for every share


def test_a_table_of_another_model_is_refused(bare: Engine) -> None:
    policy = ReusePolicy(depth=Depth(table=DepthTable("other", 32, ((0, 1),))))
    with pytest.raises(ConfigError, match="for 32 layers, this model has 3"):
        bare.generate([replace(ask_with("full", RIVER), policy=policy)])


@pytest.mark.parametrize(("has", "needs"), [((), (1,)), ((1,), ()), ((2,), (1,)), ((1, 2), (1,))])
def test_a_page_with_other_hidden_states_is_not_stored(
    model: LoadedModel, registry: Registry, has: tuple[int, ...], needs: tuple[int, ...]
) -> None:
    ids = ids_of(model, RIVER)
    [page] = encode_affixes(model.predictor, [ids], depths=has)
    with pytest.raises(InputError, match="hidden states at the layers"):
        registry.put(model.key(ids, depths=needs), page)
    assert registry.pages() == ()


def test_a_contextual_affix_has_a_key_of_its_own(engine: Engine, registry: Registry) -> None:
    runs = [
        engine.generate([ask_with(p, RIVER)])[0]
        for p in ("acache@0.2", "acache@0.2+contextual", "acache@0.2+contextual", "acache@0.2")
    ]
    assert [statuses(run) for run in runs] == [["built"], ["built"], ["hit"], ["hit"]]
    assert len(registry.pages()) == 2
    assert runs[1].token_ids == runs[2].token_ids
    assert runs[1].policy == "acache@0.2+contextual"
    check_sums(runs[1], runs[0].reuse.prompt_tokens)


def test_another_system_prompt_is_another_context(engine: Engine) -> None:
    prompts = [Prompt.user(Affix("doc", TOWN), "Where?", system=system) for system in ("Be brief.", "Rhyme.")]
    requests = [replace(CONTEXTUAL, prompt=prompt) for prompt in (*prompts, prompts[0])]
    assert [statuses(engine.generate([r])[0]) for r in requests] == [["built"], ["built"], ["hit"]]


def test_the_system_prompts_own_affix_is_encoded_alone(engine: Engine, registry: Registry) -> None:
    model = engine.model
    cold, warm = (engine.generate([CONTEXTUAL])[0] for _ in range(2))
    assert (statuses(cold), statuses(warm)) == (["built"] * 2, ["hit"] * 2)
    assert cold.token_ids == warm.token_ids
    scaffold = scaffold_for(RULES, model)
    assert stored(registry, model, RIVER) is not None
    assert stored(registry, model, TOWN) is None
    assert stored(registry, model, RIVER, scaffold=scaffold) is None
    page = stored(registry, model, TOWN, scaffold=scaffold)
    assert page is not None
    ids = ids_of(model, TOWN)
    [whole] = encode_affixes(model.predictor, [[*scaffold.before, *ids, *scaffold.after]])
    inside = slice(len(scaffold.before), len(scaffold.before) + len(ids))
    for kept, full in zip((*page.keys, *page.values), (*whole.keys, *whole.values), strict=True):
        torch.testing.assert_close(kept, full[:, inside])


def test_a_scaffold_is_the_prompts_frame(model: LoadedModel) -> None:
    scaffold = scaffold_for(RULES, model)
    before = model.tokenizer.decode(scaffold.before)
    after, mask = model.tokenizer.decode(scaffold.after), model.predictor.config.mask_id
    assert RIVER in before
    assert "Be brief." in before
    assert "stands here" not in before + after
    assert "Question: What do the documents say?" in after
    assert scaffold.after[-MASKS:] == (mask,) * MASKS
    assert RIVER not in model.tokenizer.decode(scaffold_for("plain", model).before)


def test_an_affix_too_long_for_its_scaffold_is_encoded_alone(engine: Engine, registry: Registry) -> None:
    model, options = engine.model, replace(SHORT, max_tokens=4)
    scaffold = scaffold_for("plain", model)
    room = model.predictor.config.max_tokens - len(scaffold.before) - len(scaffold.after)
    fits, long = "#" * room, "#" * (room + 1)
    requests = [ask_with("direct+contextual", text, question="?", options=options) for text in (fits, long)]
    assert [statuses(completion) for completion in engine.generate(requests)] == [["built"], ["built"]]
    assert stored(registry, model, fits, scaffold=scaffold) is not None
    assert stored(registry, model, long) is not None
    assert len(registry.pages()) == 2


def test_a_template_that_moves_its_messages_has_no_scaffold(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragcache.prompt.rendered.locate", lambda *_: None)
    (completion,) = engine.generate([CONTEXTUAL])
    assert statuses(completion) == ["skipped", "skipped"]
    assert completion.reuse.fresh == completion.reuse.prompt_tokens


def test_short_affixes_are_computed_where_a_policy_says_so(engine: Engine, registry: Registry) -> None:
    river, town = (len(ids_of(engine.model, text)) for text in (RIVER, TOWN))
    assert river < town
    request = ask_with(f"acache@0.2+min={town}", RIVER, TOWN)
    (completion,) = engine.generate([request])
    check_sums(completion, engine.tokenize(request.prompt).tokens)
    short, long = completion.reuse.affixes
    assert (short.status, short.reason, short.anchors) == ("skipped", f"shorter than {town} tokens", 0)
    assert (long.status, len(registry.pages())) == ("built", 1)
    (none,) = engine.generate([ask_with(f"acache@0.2+min={town + 1}", RIVER, TOWN)])
    (full,) = engine.generate([ask_with("full", RIVER, TOWN)])
    assert (none.reuse.fresh, none.token_ids) == (none.reuse.prompt_tokens, full.token_ids)


def test_once_refreshes_anchors_in_the_first_block_only(engine: Engine) -> None:
    always, once = (
        engine.generate([replace(ask_with(p, RIVER, TOWN), trace=True)])[0]
        for p in ("acache@0.3", "acache@0.3+once")
    )
    rows = [
        [step.rows for step in run.trace.steps if step.kind == "refresh"]  # type: ignore[union-attr]
        for run in (always, once)
    ]
    assert rows[0][0] == rows[0][1] == rows[1][0] == rows[1][1] + once.reuse.recomputed
    assert once.reuse == replace(always.reuse, affixes=once.reuse.affixes)
    assert once.token_ids[:8] == always.token_ids[:8]
    assert once.live_rows == always.live_rows


def test_a_batch_of_mixed_policies_answers_like_one_by_one(model: LoadedModel) -> None:
    requests = [ask_with(policy, RIVER, TOWN) for policy in MIXED]
    with Engine(model, max_batch=len(MIXED)) as together, Engine(model, max_batch=1) as alone:
        batched, single = together.generate(requests), [alone.generate([r])[0] for r in requests]
    assert [(c.token_ids, c.reuse, c.policy, c.rows) for c in batched] == [
        (c.token_ids, c.reuse, c.policy, c.rows) for c in single
    ]
    assert [c.policy for c in single] == MIXED
    assert len({c.token_ids for c in single}) > 3


def test_a_prompt_without_affixes_takes_any_policy(bare: Engine) -> None:
    requests = [replace(ask("no documents"), policy=parse_policy(policy)) for policy in MIXED]
    answers = bare.generate([*requests, replace(requests[0], policy=Direct)])
    assert len({answer.token_ids for answer in answers}) == 1
    assert {answer.live_rows for answer in answers} == {1.0}
