"""The trainer's own pieces: initialisation, exact match, and a state that resumes where it stopped."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from ragcache.model.catalog import NANO
from ragcache.model.checkpoint import load_model
from ragcache.model.transformer import MaskPredictor
from training.curriculum import STAGES
from training.data import Batch, SequenceMaker
from training.dense import visibility
from training.export import export
from training.stories import Stage
from training.train import Trainer, initialise, nano_config, one_step_exact_match


def batch(targets: list[int], answer: list[int]) -> Batch:
    nothing = torch.empty(0)
    return Batch(*[nothing] * 7, torch.tensor(targets), nothing, torch.tensor(answer), {})


def test_exact_match_counts_whole_answers() -> None:
    logits = torch.nn.functional.one_hot(torch.tensor([1, 2, 3, 0]), 4).float()
    assert one_step_exact_match(logits, batch([1, 2, 3, 1], [0, 0, 1, 1])) == 0.5
    assert one_step_exact_match(logits, batch([1, 2, 3, 1], [0, 0, 1, -1])) == 1.0
    assert one_step_exact_match(logits, batch([1, 2, 3, 1], [-1, -1, -1, -1])) == 0.0


def test_position_kernels_only_in_early_query_and_key_biases() -> None:
    model = MaskPredictor(nano_config(300, 0, 1))
    initialise(model, seed=1)
    biases = {name: float(p.detach().std()) for name, p in model.named_parameters() if name.endswith(".bias")}
    assert all(value > 1.0 for name, value in biases.items() if name[7] in "0123" and ".v." not in name)
    assert all(value == 0.0 for name, value in biases.items() if name[7] in "4567" or ".v." in name)


@pytest.mark.slow
def test_resumes_and_exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A saved state gives the same weights and optimiser moments back; the export loads as a checkpoint."""
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    stage = Stage(96, 2, (1, 1), (1, 1), questions=1, kinds={"single": 1.0}, plain=True)
    monkeypatch.setattr("training.train.STAGES", (stage,))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(NANO / name, tmp_path / name)
    first = Trainer(tmp_path, minutes=1, learning_rate=0.01, flat=0.7, seed=1)
    first.step(0)
    first.progress.step = 7
    first.save()
    second = Trainer(tmp_path, minutes=1, learning_rate=0.01, flat=0.7, seed=2)
    assert second.progress.step == 7
    ours, theirs = first.model.state_dict(), second.model.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    for before, after in zip(first.optimisers, second.optimisers, strict=True):
        assert before.state_dict()["state"].keys() == after.state_dict()["state"].keys()
    export(tmp_path, tmp_path / "out")
    assert load_model(tmp_path / "out").config.layers == 8


def test_starts_from_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    shutil.copyfile(NANO / "tokenizer.json", tmp_path / "tokenizer.json")
    trainer = Trainer(tmp_path, minutes=1, learning_rate=0.01, flat=0.7, seed=1, start=NANO)
    trained = load_model(NANO, dtype=torch.float32).state_dict()
    assert all(torch.equal(value, trained[name]) for name, value in trainer.model.state_dict().items())
    assert trainer.progress.stage > 0


def test_stale_tokens_see_their_affix_alone_and_nobody_sees_padding() -> None:
    maker = SequenceMaker(Tokenizer.from_file(str(NANO / "tokenizer.json")), seed=3)
    made = [one for one in (maker.sequence(STAGES[2]) for _ in range(12)) if one is not None]
    batch = maker.collate(made, STAGES[2])
    seen = visibility(batch)[:, 0] == 0.0
    assert bool(batch.stale.any())
    for row, sequence in enumerate(made):
        for position, own in [(p, span) for span in sequence.affixes for p in span]:
            if batch.stale[row, position]:
                assert seen[row, position].nonzero().squeeze(-1).tolist() == own
        free = next(p for p in range(len(sequence.ids)) if not batch.stale[row, p])
        assert seen[row, free].nonzero().squeeze(-1).tolist() == list(range(len(sequence.ids)))


def test_a_branch_sees_what_is_shared_and_itself() -> None:
    maker = SequenceMaker(Tokenizer.from_file(str(NANO / "tokenizer.json")), seed=3)
    stage = next(stage for stage in STAGES if stage.branched)
    made = [one for one in (maker.sequence(stage) for _ in range(4)) if one is not None]
    seen = visibility(maker.collate(made, stage))[:, 0] == 0.0
    for row, sequence in enumerate(made):
        shared = sequence.branches[0][0]
        assert not seen[row, :shared, shared:].any()
        for start, stop in sequence.branches:
            visible = seen[row, start].nonzero().squeeze(-1).tolist()
            assert visible == [*range(shared), *range(start, stop)]
