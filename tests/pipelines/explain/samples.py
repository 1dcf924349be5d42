"""Requests made by hand: one token a byte, so that every character beyond ASCII is split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ragcache.decoding.step import StepKind
from ragcache.engine import AffixUse, Completion, ReuseReport, Timings
from ragcache.engine.trace import StepTrace, Trace
from ragcache.pipelines.explain.view import Explanation, explain

START, END, MASK = 256, 257, 258
NASTY = "<script>alert('owned')</script> & <img src=http://evil.example/x.png onerror=alert(1)>"


class Bytes:
    """A tokenizer of bytes and three special tokens."""

    special_tokens: Mapping[str, int] = {"<|start|>": START, "<|end|>": END, "<|mask|>": MASK}

    def decode(self, ids: Sequence[int]) -> str:
        return bytes(token for token in ids if token < START).decode(errors="replace")


def encode(text: str) -> list[int]:
    return list(text.encode())


# Head, then affixes with what stands behind each.
TEXTS = (
    ("ragcache/system", "hit", "Answer from the documents.", [END, START, *encode("user\n")]),
    ("café.md", "built", "Le café ouvre à 6 h.\n\nLe thé 🍵 coûte 2 €.", encode("\n\n")),
    (f"{NASTY}.md", "skipped", NASTY, encode("\n\nWhen?")),
)


def sample(answer: str = "À 6 h.", *, scored: bool = True, full_s: float = 0.03) -> tuple[Completion, Trace]:
    """A prompt with affixes of every status, anchors in the second, and an answer in two blocks."""
    ids, uses = [START, *encode("system\n")], []
    for name, status, text, after in TEXTS:
        reason = "shorter than 999 tokens" if status == "skipped" else ""
        uses.append(AffixUse(name, len(ids), len(encode(text)), status, 0, reason))  # type: ignore[arg-type]
        ids += [*encode(text), *after]
    start = uses[1].start
    anchors = tuple(start + at for at in (3, 6, 7, 16, 22, 23, 32))  # 6, 7: é; 16: half of à; 32: part of 🍵
    uses[1] = replace(uses[1], anchors=len(anchors))
    canvas = [*encode(answer), END, END]
    affix = [at for use in uses[:2] for at in range(use.start, use.start + use.tokens)]
    scores = {at: 9.0 - anchors.index(at) if at in anchors else 0.5 for at in affix} if scored else {}
    fresh = len(ids) - len(affix)
    report = ReuseReport(tuple(uses), len(ids), len(affix) - len(anchors), len(anchors), fresh)
    completion = Completion(
        answer,
        tuple(encode(answer)),
        "stop",
        report,
        Timings(probe_s=0.004, refresh_s=0.016, refine_s=0.01, encode_s=0.05, full_s=full_s, total_s=0.09),
        forwards=5,
        model="nano",
        policy="acache@0.2",
        refreshes=2,
    )
    trace = Trace((*ids, *canvas), len(ids), anchors, scores, steps(len(ids), len(canvas)))
    return completion, trace


def steps(prompt: int, canvas: int) -> tuple[StepTrace, ...]:
    """Probe, then two blocks of a refresh and a refine; the first letter is completed by the refine."""
    half = prompt + canvas // 2
    plan: list[tuple[StepKind, int, tuple[int, ...]]] = [
        ("probe", 80, ()),
        ("refresh", 90, tuple(range(prompt + 1, half))),
        ("refine", 8, (prompt,)),
        ("refresh", 90, tuple(range(half + 1, prompt + canvas))),
        ("refine", 8, (half,)),
    ]
    return tuple(StepTrace(k, rows, i * 0.006, 0.005, done) for i, (k, rows, done) in enumerate(plan))


def view(
    answer: str = "À 6 h.", *, question: str = "When does the café open?", **options: bool
) -> Explanation:
    """The picture of `sample`."""
    completion, trace = sample(answer, **options)  # type: ignore[arg-type]
    return explain(completion, trace, Bytes(), question=question)
