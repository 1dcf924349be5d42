"""Documents of generated facts with questions about them, so that answers can be scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from ragcache.benching.texts import Asking, Document
from ragcache.errors import ConfigError
from ragcache.evaluation.generators import Split, Story, story
from ragcache.evaluation.generators.frames import PROSE
from ragcache.evaluation.generators.schema import HELD_OUT, TRAIN
from ragcache.prompt import Affix, ChatTokenizer, Prompt, tokenize
from ragcache.prompt.parts import Part
from ragcache.prompt.rag import SYSTEM

_SPLIT = Split(HELD_OUT, TRAIN)  # as the data sets of `ragcache eval`
_FACTS = 5  # of a story, at most
_MISSES = 4  # stories that did not fit, before a document counts as full
_GAP = "\n\n"


@dataclass(frozen=True)
class Facts:
    """Stories about made-up entities, each told of in one document alone. Lengths are upper bounds.

    A document holds as many whole stories as fit. A prompt's own tokens are the system prompt, the question,
    and sentences of no importance between the documents, which move these from request to request.
    """

    tokenizer: ChatTokenizer

    def documents(self, rng: Random, lengths: Sequence[int]) -> list[Document]:
        """See `Texts`."""
        taken: list[str] = []
        return [self._document(rng, f"text {n}", tokens, taken) for n, tokens in enumerate(lengths)]

    def asking(self, rng: Random, documents: Sequence[Document], fresh: int) -> Asking:
        """See `Texts`. The question is about one of the documents, any of them."""
        question, answer = rng.choice(rng.choice(documents).questions)
        bare = _prompt([""] * len(documents), documents, question)
        inside = sum(self._tokens(document.affix.text) for document in documents)
        room = fresh - (tokenize(bare, self.tokenizer).tokens - inside)
        if room < 0:
            raise ConfigError(
                f"system prompt and question take {-room} tokens more than the {fresh} that are no affix's; "
                "give a longer --prompt, or --texts words"
            )
        return Asking(_prompt(self._asides(rng, len(documents), room), documents, question), answer)

    def _document(self, rng: Random, name: str, tokens: int, taken: list[str]) -> Document:
        """Stories about none of the `taken`, to which theirs are added."""
        text, misses = "", 0
        questions: list[tuple[str, str]] = []
        while misses < _MISSES:
            told = _story(rng, _FACTS if not misses else 1, taken)
            longer = f"{text}\n{told.docs[0]}" if text else told.docs[0]
            if self._tokens(longer) > tokens:
                misses += 1
                continue
            text = longer
            questions.append((told.questions[0].question, told.questions[0].answer))
            taken += _subjects(told)
        if not questions:
            raise ConfigError(
                f"no fact fits a document of {tokens} tokens; give a longer --prompt, or --texts words"
            )
        return Document(Affix(name, text), tuple(questions))

    def _asides(self, rng: Random, count: int, room: int) -> list[str]:
        """What to say before each of `count` documents, of at most `room` tokens together."""
        asides = [""] * count
        while True:
            said = rng.choice(PROSE) + _GAP
            room -= self._tokens(said + "A")  # with what follows: blanks at an end may merge
            if room < 0:
                return asides
            asides[rng.randrange(count)] += said

    def _tokens(self, text: str) -> int:
        return len(self.tokenizer.encode(text).ids)


def _prompt(asides: Sequence[str], documents: Sequence[Document], question: str) -> Prompt:
    """As `rag_prompt`, but for the asides, and a system prompt that is no affix: it is in no store."""
    parts: list[Part] = []
    for aside, document in zip(asides, documents, strict=True):
        parts += [aside, document.affix, _GAP]
    return Prompt.user(*parts, f"Question: {question}", system=SYSTEM.text)


def _story(rng: Random, facts: int, taken: Sequence[str]) -> Story:
    """One document of at most `facts` facts about none of the `taken`, with a question."""
    while True:
        told = story(rng, _SPLIT, docs=(1, 1), facts=(1, facts), questions=1, kinds={"single": 1.0})
        clash = any(new in old or old in new for new in _subjects(told) for old in taken)
        if told.questions and not clash:
            return told


def _subjects(told: Story) -> set[str]:
    return {one.subject.lower() for one in told.told}
