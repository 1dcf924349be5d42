"""Training sequences: fixed shapes, the right targets, the same rendering as the chat template."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from ragcache.evaluation.generators import QA
from ragcache.model.catalog import NANO
from ragcache.prompt import Affix, ChatTokenizer, Message, Prompt, tokenize
from ragcache.prompt.rag import rag_prompt
from training.conversation import Conversation
from training.curriculum import STAGES
from training.data import SequenceMaker
from training.stories import LAYOUTS, SYSTEM_PROMPTS, Stage

STAGE = Stage(256, 4, (1, 2), (1, 3), questions=3, kinds={"single": 1.0})


@pytest.fixture
def maker() -> SequenceMaker:
    return SequenceMaker(Tokenizer.from_file(str(NANO / "tokenizer.json")), seed=3)


def test_sequences_fit_and_end_in_a_canvas(maker: SequenceMaker) -> None:
    for _ in range(20):
        made = maker.sequence(STAGE)
        assert made is not None
        assert len(made.ids) <= STAGE.tokens
        start, stop = made.canvases[-1]
        assert stop == len(made.ids)
        assert maker.chat.eot in made.ids[start:stop]
        assert maker.mask not in made.ids


def test_batches_have_one_shape_and_true_targets(maker: SequenceMaker) -> None:
    sequences = [made for made in (maker.sequence(STAGE) for _ in range(4)) if made is not None]
    batch = maker.collate(sequences, STAGE)
    assert batch.token_ids.shape == (4, STAGE.tokens)
    assert len(batch.picked) % 512 == 0
    real = batch.weights > 0
    assert bool((batch.token_ids.flatten()[batch.picked[real]] == maker.mask).all())
    for index, target in zip(batch.picked[real].tolist(), batch.targets[real].tolist(), strict=True):
        row, column = divmod(index, STAGE.tokens)
        assert sequences[row].ids[column] == target
    assert int((batch.token_ids == maker.mask).sum()) == int(real.sum())


def test_padding_is_never_valid(maker: SequenceMaker) -> None:
    sequences = [made for made in (maker.sequence(STAGE) for _ in range(4)) if made is not None]
    batch = maker.collate(sequences, STAGE)
    assert batch.valid.sum(1).tolist() == [len(made.ids) for made in sequences]
    steps = batch.positions.diff(dim=1)
    assert torch.equal(steps, torch.ones_like(steps))


def test_same_ids_as_the_shipped_template(maker: SequenceMaker) -> None:
    """What the model is trained on is what a user's prompt becomes."""
    tokenizer = ChatTokenizer.from_folder(Path(NANO))
    text = LAYOUTS[0].format(docs="The Lumora lamp costs 89 euros.", question="What does the lamp cost?")
    prompt = Prompt.chat(Message("system", (SYSTEM_PROMPTS[0],)), Message("user", (text,)))
    expected = [maker.chat.bos]
    maker.chat.turn(expected, "system", SYSTEM_PROMPTS[0])
    turn = maker.chat.turn(expected, "user", text)
    assert expected[turn.start : -1] == turn.encoding.ids
    expected += maker.chat.header("assistant")
    assert list(tokenize(prompt, tokenizer).token_ids) == expected


def test_the_rag_prompt_is_a_trained_layout() -> None:
    prompt = rag_prompt("What?", [Affix("a", "First."), Affix("b", "Second.")])
    system, user = prompt.messages
    assert system.text == SYSTEM_PROMPTS[0]
    assert user.text == LAYOUTS[0].format(docs="First.\n\nSecond.", question="What?")


def test_each_branch_is_the_prompt_of_one_question(maker: SequenceMaker) -> None:
    """Read with what is shared, a branch is what a user would have sent, at the same positions."""
    stage = replace(next(stage for stage in STAGES if stage.branched), system_share=0.0)
    texts: list[str] = []
    ask = Conversation.ask

    def listen(talk: Conversation, qa: QA, text: str) -> int:
        texts.append(text)
        return ask(talk, qa, text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Conversation, "ask", listen)
        made = maker.sequence(stage)
    assert made is not None
    assert len(made.branches) == len(made.canvases) > 2
    batch = maker.collate([made], stage)
    shared = made.branches[0][0]
    for text, (start, stop), (answer, _) in zip(texts, made.branches, made.canvases, strict=False):
        alone = [maker.chat.bos]
        maker.chat.turn(alone, "user", text)
        alone += maker.chat.header("assistant")
        assert made.ids[:shared] + made.ids[start:answer] == alone
        expected = torch.arange(stop - start) + int(batch.positions[0, shared - 1]) + 1
        assert torch.equal(batch.positions[0, start:stop], expected)


def test_what_an_answer_looks_at_is_there_for_its_branch(maker: SequenceMaker) -> None:
    stage = next(stage for stage in STAGES if stage.branched)
    made = maker.sequence(stage)
    assert made is not None
    shared = made.branches[0][0]
    looked = 0
    for start, stop in made.branches:
        for name in made.targets:
            for position in range(start, stop):
                sources = made.targets[name].get(position, [])
                assert all(source < shared or start <= source < stop for source in sources)
                looked += len(sources)
    assert looked > 0


def test_paragraphs_change_white_space_only(maker: SequenceMaker) -> None:
    teller = maker.teller
    doc = "## Lumora\nThe lamp costs 89 euros. It weighs 3 kg. Elsa J. Holm sells it. The rest is silence."
    broken = {teller._paragraphs(doc) for _ in range(60)}
    assert len(broken) > 4
    assert {" ".join(text.split()) for text in broken} == {" ".join(doc.split())}
    assert all("J. Holm" in text for text in broken)
