"""What the model reads: stories with made-up words and paragraphs, and the ways to put a question to them."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tokenizers import Tokenizer

from ragcache.evaluation.generators import LINKED_KINDS, Split, Story, linked_story, story
from training.office import office_story
from training.substitute import Substituter

SYSTEM_PROMPTS = (
    'Answer from the documents only, in as few words as possible. Say "not stated" if they do not tell.',
    "You answer questions about the documents. If the documents do not say it, answer: not stated.",
    "Read the documents and give a short answer.",
    "You are a careful assistant for the staff handbook. Quote the documents, do not guess.",
)
LAYOUTS = (
    "{docs}\n\nQuestion: {question}",
    "{docs}\n\n{question}",
    "Context:\n{docs}\n\nQuestion: {question}\nAnswer:",
    "Documents:\n\n{docs}\n\nAnswer this question: {question}",
    "Question: {question}\n\n{docs}",
    "{first}\n\nQuestion: {question}\n\n{rest}",
)
LAYOUT_WEIGHTS = (8, 1, 1, 1, 1, 1)
DOCUMENTS_FIRST = 4  # of the layouts: the documents stand before the question
SUBSTITUTED = 0.75
HOPS = (1, 4)
PAGE_KINDS = {"single": 0.42, "two_hop": 0.2, "not_stated": 0.28, "number": 0.04, "list": 0.06}
PAGE_WORDS = {"share": 0.85, "low": 0.3}  # replaced: names mostly; what a page means is to be learned as well
PARAGRAPHS = 0.3  # share of documents with blank lines inside, as pages written by people have
BREAK = re.compile(r"(?<=[a-z0-9]\.) (?=[A-Z])")


@dataclass(frozen=True)
class Stage:
    """One step of the curriculum: how long, how many, how hard. Ranges are inclusive.

    `canvases` are the lengths of the last canvas; `plain` leaves out other layouts and masks in documents;
    `linked` is the share of stories whose answers need several documents (chains, pronouns, comparisons),
    `office` that of stories of handbook pages with facts of many kinds.
    With `branched`, the questions do not see one another: many prompts of one question, read at once.
    """

    tokens: int
    rows: int
    docs: tuple[int, int]
    facts: tuple[int, int]
    questions: int
    kinds: Mapping[str, float]
    system_share: float = 0.75
    canvases: tuple[int, ...] = (8, 16, 16, 32)
    plain: bool = False
    linked: float = 0.0
    office: float = 0.0
    branched: bool = False


class StoryTeller:
    """Draws stories of the training split, and words prompts."""

    def __init__(self, tokenizer: Tokenizer, rng: random.Random) -> None:
        self.rng, self.substituter = rng, Substituter(tokenizer, rng)

    def story(self, stage: Stage) -> Story:
        """Documents and questions, at times with made-up words and with paragraphs."""
        split = Split(names="train", templates="train")
        drawn, pages = self.rng.random(), False
        if drawn < stage.linked:
            kind = self.rng.choice(LINKED_KINDS)
            made = linked_story(self.rng, split, kind, questions=stage.questions, hops=HOPS)
        elif drawn < stage.linked + stage.office:
            pages = True  # with titles and paragraphs of their own
            made = office_story(
                self.rng,
                split,
                docs=stage.docs,
                facts=stage.facts,
                questions=stage.questions,
                kinds=PAGE_KINDS,
            )
        else:
            made = story(
                self.rng,
                split,
                docs=stage.docs,
                facts=stage.facts,
                questions=stage.questions,
                kinds=stage.kinds,
            )
        if self.rng.random() < SUBSTITUTED:
            made = self.substituter.apply(made, **(PAGE_WORDS if pages else {}))
        return (
            made
            if stage.plain or pages
            else replace(made, docs=tuple(self._paragraphs(doc) for doc in made.docs))
        )

    def layout(self, stage: Stage) -> str:
        """A way to put documents and question together."""
        if stage.plain:
            return LAYOUTS[0]
        known = DOCUMENTS_FIRST if stage.branched else len(LAYOUTS)
        return self.rng.choices(LAYOUTS[:known], LAYOUT_WEIGHTS[:known])[0]

    def system(self) -> str:
        """A system prompt, mostly the one that pipelines use."""
        return self.rng.choices(SYSTEM_PROMPTS, (5, 1, 1, 1))[0]

    def prompt(self, made: Story, question: str, layout: str) -> str:
        """Documents and question in one text."""
        docs = list(made.docs)
        cut = self.rng.randrange(1, len(docs)) if len(docs) > 1 else 1
        return layout.format(
            docs="\n\n".join(docs),
            first="\n\n".join(docs[:cut]),
            rest="\n\n".join(docs[cut:]) or "End of documents.",
            question=question,
        )

    def _paragraphs(self, doc: str) -> str:
        if self.rng.random() >= PARAGRAPHS:
            return doc
        titled = doc.replace("\n", "\n\n", 1) if self.rng.random() < 0.5 else doc
        return BREAK.sub(lambda _: self.rng.choice(("\n\n", " ", " ")), titled)
