"""Train nano: `python -m training.train --out runs/nano --minutes 90`. Resumes from the folder's last state.

Muon on the matrices, AdamW on the rest; a curriculum in length; loss on masked positions only.
"""

from __future__ import annotations

import json
import math
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.nn.functional as F
import typer
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

from ragcache.model.checkpoint import load_model
from ragcache.model.config import ModelConfig
from ragcache.model.rows import Rows
from ragcache.model.transformer import MaskPredictor
from training.curriculum import ADVANCE_AT, LAST_REPLAY, REPLAY, STAGES
from training.data import Batch, SequenceMaker
from training.dense import DenseAttention, pointer_loss, visibility
from training.pointers import POINTERS
from training.stories import Stage
from training.tokenizer import train_tokenizer

POINTER_WEIGHT = 1.0
LOG_EVERY = 7  # prime to the length of REPLAY: all stages are seen


def nano_config(vocab_size: int, eos_id: int, mask_id: int) -> ModelConfig:
    """8 layers: depth reuse needs some. Few wide heads: fast on a CPU."""
    return ModelConfig(
        hidden_size=256, layers=8, heads=4, kv_heads=4, head_dim=64, mlp_size=704,
        embedding_rows=vocab_size, max_tokens=2048, rope_theta=10000.0, norm_eps=1e-5, qkv_bias=True,
        tied_head=True, mask_id=mask_id, eos_id=eos_id, pad_id=eos_id,
    )  # fmt: skip


def initialise(model: MaskPredictor, seed: int) -> None:
    """N(0, 0.02), residual projections scaled down; q/k biases of the first layers are position kernels.

    A constant q and k under RoPE depends on the distance alone, so some heads look at their neighbours from
    the first step on, and copying of several tokens can form (tried against its absence: nano.md).
    """
    generator = torch.Generator().manual_seed(seed)
    layers = model.config.layers
    for name, parameter in model.named_parameters():
        with torch.no_grad():
            if name.endswith("norm.weight"):
                parameter.fill_(1.0)
            elif parameter.ndim == 1:
                early = int(name.split(".")[1]) < layers // 2 and name.split(".")[2] in ("q", "k")
                parameter.normal_(0.0, 1.5, generator=generator) if early else parameter.zero_()
            else:
                residual = name.endswith(("o.weight", "down.weight"))
                parameter.normal_(
                    0.0, 0.02 / math.sqrt(2 * layers) if residual else 0.02, generator=generator
                )


@dataclass
class Progress:
    """Where training stands; written beside the weights."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    stage: int = 0
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=40))


class BatchStream(IterableDataset[Batch]):
    """Batches of one stage, made in a worker process."""

    def __init__(self, tokenizer_file: Path, stage: Stage, seed: int) -> None:
        self.tokenizer_file, self.stage, self.seed = tokenizer_file, stage, seed

    def __iter__(self):  # type: ignore[no-untyped-def]
        torch.set_num_threads(1)
        maker = SequenceMaker(Tokenizer.from_file(str(self.tokenizer_file)), self.seed)
        return maker.batches(self.stage)


def stream(tokenizer_file: Path, stage: Stage, seed: int) -> DataLoader[Batch]:
    """A loader that keeps a few batches ready."""
    return DataLoader(
        BatchStream(tokenizer_file, stage, seed), batch_size=None, num_workers=1, prefetch_factor=4
    )


class Trainer:
    """Model, optimisers and the curriculum."""

    def __init__(
        self,
        out: Path,
        *,
        minutes: float,
        learning_rate: float,
        flat: float,
        seed: int,
        start: Path | None = None,
    ) -> None:
        self.out, self.minutes, self.flat, self.seed = out, minutes, flat, seed
        out.mkdir(parents=True, exist_ok=True)
        if not (out / "tokenizer.json").exists():
            train_tokenizer(out)
        self.tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
        ids = self.tokenizer.get_vocab()
        self.model = MaskPredictor(
            nano_config(self.tokenizer.get_vocab_size(), ids["<|endoftext|>"], ids["<|mdm_mask|>"])
        )
        initialise(self.model, seed)
        self.progress = Progress()
        self.taught: dict[str, float] = {}
        if start is not None:
            self._start_from(start)
        matrices = [p for n, p in self.model.named_parameters() if p.ndim == 2 and n.startswith("layers.")]
        chosen = {id(p) for p in matrices}
        rest = [p for p in self.model.parameters() if id(p) not in chosen]
        self.optimisers: list[torch.optim.Optimizer] = [
            torch.optim.Muon(matrices, lr=learning_rate, weight_decay=0.02),
            torch.optim.AdamW(rest, lr=learning_rate * 0.15, weight_decay=0.0, betas=(0.9, 0.98)),
        ]
        self.rates = [learning_rate, learning_rate * 0.15]
        self._resume()
        self.trunk = torch.compile(self._hidden, dynamic=False)
        self.loaders: dict[int, object] = {}

    def _hidden(self, token_ids: Tensor, positions: Tensor, bias: Tensor) -> tuple[Tensor, list[Tensor]]:
        rows = Rows(token_ids.flatten(), positions.flatten(), (0, token_ids.numel()))
        attention = DenseAttention(bias, tuple(POINTERS.values()))
        hidden: Tensor = self.model(rows, attention)
        return hidden, attention.looks

    def _next(self, stage: int) -> Batch:
        if stage not in self.loaders:
            seed = self.seed * 1000 + self.progress.step * 10 + stage
            self.loaders[stage] = iter(stream(self.out / "tokenizer.json", STAGES[stage], seed))
        batch: Batch = next(self.loaders[stage])  # type: ignore[call-overload]
        return batch

    def rate(self) -> float:
        """Share of the full learning rate: warm-up, flat, then linear to 2 %."""
        done = self.progress.seconds / (self.minutes * 60)
        warm = min(1.0, (self.progress.step + 1) / 40)
        return warm * min(1.0, max(0.02, (1 - done) / (1 - self.flat)))

    def step(self, stage: int) -> tuple[float, float]:
        """One update; loss and one-step exact match of the fully masked answers."""
        batch = self._next(stage)
        for optimiser, base in zip(self.optimisers, self.rates, strict=True):
            for group in optimiser.param_groups:
                group["lr"] = base * self.rate()
        bias = visibility(batch)
        with torch.autocast("cpu", torch.bfloat16):
            hidden, looks = self.trunk(batch.token_ids, batch.positions, bias)
            logits = self.model.logits(hidden[batch.picked]).float()
        losses = F.cross_entropy(logits, batch.targets, reduction="none")
        loss = (losses * batch.weights).sum() / batch.weights.sum()
        taught = {
            name: pointer_loss(scores, *batch.pointers[name])
            for name, scores in zip(POINTERS, looks, strict=True)
        }
        (loss + POINTER_WEIGHT * torch.stack(list(taught.values())).sum()).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        self.taught = {name: round(float(one.detach()), 3) for name, one in taught.items()}
        return float(loss.detach()), one_step_exact_match(logits.detach(), batch)

    def run(self) -> None:
        """Train until the minutes are spent."""
        progress, started, last_save = self.progress, time.perf_counter(), time.perf_counter()
        while progress.seconds < self.minutes * 60:
            top = progress.stage
            replay = REPLAY if progress.seconds < self.flat * self.minutes * 60 else LAST_REPLAY
            stage = max(0, top - replay[progress.step % len(replay)])
            loss, exact = self.step(stage)
            now = time.perf_counter()
            progress.seconds += now - started
            started = now
            progress.step += 1
            progress.tokens += STAGES[stage].rows * STAGES[stage].tokens
            if stage == top:
                progress.recent.append(exact)
            self._log(stage, loss, exact)
            mean = sum(progress.recent) / max(1, len(progress.recent))
            if top + 1 < len(STAGES) and len(progress.recent) == 40 and mean > ADVANCE_AT:
                progress.stage += 1
                progress.recent.clear()
            if now - last_save > 240:
                self.save()
                last_save = now
        self.save()

    def _log(self, stage: int, loss: float, exact: float) -> None:
        p = self.progress
        if p.step % LOG_EVERY == 0:
            row = {"step": p.step, "stage": stage, "loss": round(loss, 4), "exact": round(exact, 3),
                   **self.taught,
                   "lr": round(self.rate(), 3), "tokens": p.tokens, "seconds": round(p.seconds)}  # fmt: skip
            with (self.out / "log.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    def save(self) -> None:
        """Weights, optimiser moments and progress; the state file is replaced in one rename."""
        tensors = {f"model.{n}": p.detach() for n, p in self.model.named_parameters()}
        for number, optimiser in enumerate(self.optimisers):
            for index, state in optimiser.state_dict()["state"].items():
                for key, value in state.items():
                    tensors[f"optimiser.{number}.{index}.{key}"] = torch.as_tensor(value).contiguous()
        p = self.progress
        meta = json.dumps({"step": p.step, "tokens": p.tokens, "seconds": p.seconds, "stage": p.stage})
        save_file(tensors, self.out / "state.tmp", metadata={"progress": meta})
        (self.out / "state.tmp").replace(self.out / "state.safetensors")
        (self.out / "progress.json").write_text(meta, encoding="utf-8")

    def _start_from(self, checkpoint: Path) -> None:
        """Weights of a trained checkpoint, at the last stage; moments start anew."""
        self.model.load_state_dict(load_model(checkpoint, dtype=torch.float32).state_dict())
        self.progress.stage = len(STAGES) - 1

    def _resume(self) -> None:
        path = self.out / "state.safetensors"
        if not path.exists():
            return
        tensors = load_file(path)
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(tensors[f"model.{name}"])
        for number, optimiser in enumerate(self.optimisers):
            state: dict[int, dict[str, Tensor]] = {}
            for name, tensor in tensors.items():
                if name.startswith(f"optimiser.{number}."):
                    index, key = name.split(".")[2:]
                    state.setdefault(int(index), {})[key] = tensor
            optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
        saved = json.loads((self.out / "progress.json").read_text(encoding="utf-8"))
        self.progress = Progress(saved["step"], saved["tokens"], saved["seconds"], saved["stage"])


def one_step_exact_match(logits: Tensor, batch: Batch) -> float:
    """Share of the fully masked answers whose every token is the argmax at once."""
    inside = batch.answer >= 0
    if not bool(inside.any()):
        return 0.0
    numbers = batch.answer[inside]
    wrong = (logits[inside].argmax(-1) != batch.targets[inside]).float()
    count = int(numbers.max()) + 1
    errors = torch.zeros(count).index_add_(0, numbers, wrong)
    present = torch.zeros(count).index_add_(0, numbers, torch.ones_like(wrong)) > 0
    return float((errors[present] == 0).float().mean())


def main(
    out: Path = Path("runs/nano"),
    minutes: float = 90.0,
    learning_rate: float = 0.01,
    flat: float = 0.75,
    seed: int = 1,
    start: Path | None = None,
) -> None:
    """Train, or go on from the folder's last state; the rate falls after the share `flat` of the minutes.

    `start` is a checkpoint to begin with (its tokenizer must be in `out`), when there is no state yet.
    """
    Trainer(out, minutes=minutes, learning_rate=learning_rate, flat=flat, seed=seed, start=start).run()


if __name__ == "__main__":
    typer.run(main)
