"""Canvas after canvas of noise, as DiffusionGemma decodes: every forward guesses all tokens anew.

Of what is drawn from a guess the tokens of least entropy are kept (entropy bound, arXiv 2505.24857), noise
takes the place of the others, and the guess itself conditions the next forward. A canvas ends when guesses
have come to rest, or after a number of steps; its best tokens are the answer's, and the encoder reads them
before the next one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import torch
from torch import Tensor

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.commit import EntropyBound
from ragcache.decoding.step import Step, Work
from ragcache.model.diffusion_gemma import CanvasHabits, DiffusionGemma, EncodedPrompt


def denoise_canvases(
    model: DiffusionGemma,
    canvas: Canvas,
    live: Tensor,
    kv: EncodedPrompt,
    seed: int,
    ended: Callable[[list[int]], bool] = lambda answer: False,
) -> Work[int]:
    """Fill the blocks of `canvas`, which are the model's canvases; the number of positions decided.

    `live` `[n]` are the prompt's positions that `kv` has no page of. After each block `ended` sees the answer
    so far and may stop. Chance is the request's own, so that peers change nothing.
    """
    chance = torch.Generator(device=model.device).manual_seed(seed)
    unread, stop = live, canvas.prompt_tokens
    for start, stop in canvas.blocks():
        rows = torch.arange(start, stop)
        best = yield from _one_canvas(model, canvas.token_ids, unread, rows, kv, chance)
        canvas.commit(rows, best)
        if ended(canvas.answer(stop)):
            break
        unread = rows
    return stop - canvas.prompt_tokens


def _one_canvas(
    model: DiffusionGemma,
    token_ids: Tensor,
    unread: Tensor,
    rows: Tensor,
    kv: EncodedPrompt,
    chance: torch.Generator,
) -> Work[Tensor]:
    """The tokens `[rows]` of one canvas; its first forward has the encoder read positions `unread` too."""
    noise = _Noise(model, len(rows), chance)
    rest = _Rest(model.habits)
    ids, best, kv.conditioning = noise.draw(), rows, None
    for step in range(model.habits.steps):
        before = unread if step == 0 else unread[:0]
        positions, sample = torch.cat((before, rows)), torch.arange(len(rows)) + len(before)
        read = torch.cat((token_ids[before], ids.cpu()))
        logits = yield Step(positions, read, sample, kv, kind="refine" if step else "refresh")
        guess = logits / _temperature(model.habits, step)
        ids, entropy = noise.renew(ids, guess)
        best = guess.argmax(-1)
        kv.conditioning = guess.to(model.dtype)
        if rest.reached(best, entropy):
            break
    return best.cpu()


def _temperature(habits: CanvasHabits, step: int) -> Tensor:
    """Falls with the share of steps that are left, this one included.

    In fp32 as transformers has it: guesses feed guesses, which makes much of a last bit.
    """
    left = torch.tensor(habits.steps - step) / habits.steps
    return habits.coldest + (habits.hottest - habits.coldest) * left


class _Noise:
    """Random tokens, and what is kept of a guess among them."""

    def __init__(self, model: DiffusionGemma, tokens: int, chance: torch.Generator) -> None:
        self.rows, self.tokens, self.chance = model.config.embedding_rows, tokens, chance
        self.rule = EntropyBound(model.habits.entropy_bound)

    def draw(self) -> Tensor:
        """Tokens `[n]`, each as likely as another."""
        return torch.randint(self.rows, (self.tokens,), generator=self.chance, device=self.chance.device)

    def renew(self, ids: Tensor, guess: Tensor) -> tuple[Tensor, Tensor]:
        """The canvas `[n]` after `guess` `[n, vocabulary]`, and the entropy `[n]` of each place in nats."""
        log_p = torch.log_softmax(guess.to(torch.float32), -1)
        drawn = torch.multinomial(log_p.exp(), 1, generator=self.chance).squeeze(-1)
        entropy = -(log_p.exp() * log_p).sum(-1)
        order = entropy.sort(stable=True)
        kept = order.indices[: self.rule.count(-order.values, step=0, masked_at_start=self.tokens)]
        renewed = self.draw()
        renewed[kept] = drawn[kept]
        return renewed, entropy


class _Rest:
    """Notices when guesses have come to rest: the same best tokens again, and little doubt."""

    def __init__(self, habits: CanvasHabits) -> None:
        self.sure, self.seen = habits.sure, deque[Tensor](maxlen=habits.stable_steps)

    def reached(self, best: Tensor, entropy: Tensor) -> bool:
        """Whether the canvas is done, with the best tokens `[n]` of a guess of this `entropy` `[n]`."""
        same = len(self.seen) == self.seen.maxlen and all(torch.equal(best, one) for one in self.seen)
        self.seen.append(best)
        return same and float(entropy.mean()) < self.sure
