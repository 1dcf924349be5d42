"""Training sequences: fixed shapes, the right targets, the same rendering as the chat template."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from ragcache.model.catalog import NANO
from ragcache.prompt import Affix, ChatTokenizer, Message, Prompt, tokenize
from ragcache.prompt.rag import rag_prompt
from training.data import LAYOUTS, SYSTEM_PROMPTS, SequenceMaker, Stage

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
        assert maker.eot in made.ids[start:stop]
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
    expected = [maker.bos]
    maker._turn(expected, "system", SYSTEM_PROMPTS[0])
    turn = maker._turn(expected, "user", text)
    assert expected[turn.start : -1] == turn.encoding.ids
    expected += [maker.start_header, *maker._encode("assistant"), maker.end_header]
    assert list(tokenize(prompt, tokenizer).token_ids) == expected


def test_the_rag_prompt_is_a_trained_layout() -> None:
    prompt = rag_prompt("What?", [Affix("a", "First."), Affix("b", "Second.")])
    system, user = prompt.messages
    assert system.text == SYSTEM_PROMPTS[0]
    assert user.text == LAYOUTS[0].format(docs="First.\n\nSecond.", question="What?")
