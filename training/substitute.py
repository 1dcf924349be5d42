"""Replace names and values of a story by made-up words, so that copying is learned for every token.

The pools of the generators reach only part of the vocabulary; a model trained on them alone garbles words
whose tokens it hardly ever had to copy. A word is replaced everywhere: in documents, questions and answers.
"""

from __future__ import annotations

import random
import re

from tokenizers import Tokenizer

from ragcache.evaluation.generators import QA, Story, Told

# Words that carry the meaning of a template rather than a name or a value, and those that hold one together.
KEPT = re.compile(
    "room|hall|crew|shift|club|course|"
    "and|the|for|per|not|but|its|his|her|all|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    "each|every|once|twice|half|first|second|third|last|next|end|early|late|minus|behind|under|over|near|that|"
    "who|than|more|less|into|out|without|between|about|morning|evening|afternoon|night|noon|times?|degrees?|"
    "stated|team|department|group|unit|policy|project|company|office|house|with|from|until|after|before|"
    "(day|week|month|year|hour|minute|euro|dollar|pound|gram|kilogram|kilo|seat|member)s?|percent|people|floor|person|"
    "january|february|march|april|may|june|july|august|september|october|november|december|"
    "(mon|tues|wednes|thurs|fri|satur|sun)days?",
    re.IGNORECASE,
)
WORD = re.compile(r"[A-Za-z]{3,}")
SHORT_PIECES = 0.5


class Substituter:
    """Draws made-up words from the tokenizer's own pieces."""

    def __init__(self, tokenizer: Tokenizer, rng: random.Random) -> None:
        self.rng = rng
        pieces = {tokenizer.decode([i]).strip() for i in range(tokenizer.get_vocab_size())}
        plain = sorted(piece for piece in pieces if piece.isascii() and piece.isalpha())
        self.lower = [piece for piece in plain if piece.islower()]
        self.upper = [piece for piece in plain if piece[0].isupper() and piece[1:] == piece[1:].lower()]
        self.bits = [piece for piece in self.lower if len(piece) <= 3]

    def word(self, old: str) -> str:
        """A made-up word, capitalised like `old`: a few long pieces, or several short ones.

        Names that the tokenizer never saw fall into three to five tokens of one to three letters each.
        """
        if self.rng.random() < SHORT_PIECES:
            bits = "".join(self.rng.choices(self.bits, k=self.rng.choice((2, 3, 3, 4))))
            return bits.capitalize() if old[0].isupper() else bits
        first = self.rng.choice(self.upper if old[0].isupper() else self.lower)
        return first + "".join(self.rng.choices(self.lower, k=self.rng.choice((0, 1, 1, 2))))

    def apply(self, made: Story, share: float = 0.7, low: float = 0.7) -> Story:
        """The story with other words: about `share` of the words with a capital of its names, values and
        answers, and `low` of those in lower case."""
        spans = [qa.answer for qa in made.questions if qa.kind not in ("not_stated", "yes_no")]
        spans += [text for told in made.told for text in (told.subject, told.value)]
        words = sorted({word for text in spans for word in WORD.findall(text)})
        new = {
            word: self.word(word)
            for word in words
            if not KEPT.fullmatch(word) and self.rng.random() < (low if word.islower() else share)
        }
        if not new:
            return made
        for word in words:  # "Ada Vell" has the address ada.vell@..., "key policy" the title "Key policy"
            if word.capitalize() in new and word.islower():
                new[word] = new[word.capitalize()].lower()
        new.update({word.capitalize(): other.capitalize() for word, other in new.items() if word.islower()})
        pattern = re.compile(r"\b(" + "|".join(new) + r")\b")

        def swap(text: str) -> str:
            return pattern.sub(lambda match: new[match[0]], text)

        return Story(
            tuple(swap(doc) for doc in made.docs),
            tuple(
                QA(swap(qa.question), swap(qa.answer), qa.kind, swap(qa.subject), swap(qa.bridge))
                for qa in made.questions
            ),
            tuple(Told(told.doc, swap(told.subject), swap(told.value)) for told in made.told),
        )
