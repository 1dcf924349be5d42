"""A page written down: a title at times, plain sentences in paragraphs, or a list."""

from __future__ import annotations

from collections.abc import Iterator

from ragcache.evaluation.generators.render import Forms, capital, fill, named
from ragcache.evaluation.generators.schema import Entity
from training.office.plan import Fact, Plan

_TITLED, _LISTED, _INTRO, _FILLER, _JOINED = 0.45, 0.1, 0.3, 0.12, 0.12
_ROWS = ("- {n}: {v}", "{n}: {v}", "* {n}: {v}", "| {n} | {v} |", "{n}: {v}.")
_TITLES = ("# {}", "# {}", "## {}", "{}")


class PageWriter:
    """Writes the pages of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.rng = plan, plan.rng

    def pages(self) -> tuple[str, ...]:
        """All pages, in order."""
        return tuple(self._page(page) for page in range(len(self.plan.subjects)))

    def _page(self, page: int) -> str:
        rng, facts = self.rng, self.plan.of(page)
        entity = self.plan.subjects[page].entity
        title = rng.choice(_TITLES).format(capital(entity.name))
        if rng.random() < _LISTED:
            return "\n".join((title, *self._rows(entity, facts)))
        text = self._paragraphs(list(self._sentences(page, facts)))
        if rng.random() >= _TITLED:
            return text
        return title + rng.choice(("\n", "\n\n")) + text

    def _rows(self, entity: Entity, facts: list[Fact]) -> Iterator[str]:
        """A line for each fact that has a noun, then the others in words."""
        row = self.rng.choice(_ROWS)
        named_facts = [fact for fact in facts if fact.kind.nouns[0]]
        for fact in named_facts:
            yield row.format(n=capital(self.rng.choice(fact.kind.nouns)), v=fact.value.text)
        for fact in facts:
            if fact not in named_facts:
                forms = named(entity.ref)
                yield filled(self._template(fact, forms, bare=False), fact, entity, forms) + "."

    def _paragraphs(self, sentences: list[str]) -> str:
        """Two to four sentences each, or all in one."""
        if self.rng.random() < 0.5:
            return " ".join(sentences)
        parts, at = [], 0
        while at < len(sentences):
            size = self.rng.randint(2, 4)
            parts.append(" ".join(sentences[at : at + size]))
            at += size
        return "\n\n".join(parts)

    def _sentences(self, page: int, facts: list[Fact]) -> Iterator[str]:
        rng, waiting = self.rng, list(facts)
        entity, sort = self.plan.subjects[page].entity, self.plan.subjects[page].sort
        fillers = rng.sample(sort.filler, len(sort.filler))
        known = rng.random() < _INTRO or not facts[0].kind.lead
        if known:
            yield self._plain(rng.choice(sort.intro), named(entity.ref))
        while waiting:
            forms = self._mention(entity, known)
            fact = waiting.pop(0)
            template = self._template(fact, forms, bare=known)
            text = filled(template, fact, entity, forms)
            opens = template.startswith("{s} ") and " and " not in text
            if waiting and opens and rng.random() < _JOINED:
                text += self._tail(waiting, pronouns(entity))
            yield f"{text}."
            if fillers and rng.random() < _FILLER:
                yield self._plain(fillers.pop(), pronouns(entity) if known else named(entity.ref))
            known = True

    def _mention(self, entity: Entity, known: bool) -> Forms:
        """The full name, a pronoun or a short form."""
        shape = self.rng.random()
        if not known or shape > 0.75:
            return named(entity.ref)
        return pronouns(entity) if shape < 0.5 else named(entity.short)

    def _template(self, fact: Fact, forms: Forms, *, bare: bool) -> str:
        """A way to say a fact; `bare` ones may leave out the subject."""
        pool = fact.kind.say.train if bare else fact.kind.lead or fact.kind.say.train
        # A value in lower case would lose its spelling to the capital; "the price of her" is no English.
        low = fact.value.text == fact.value.answer and fact.value.text[0].islower()
        personal = forms[1] in ("her", "him")
        usable = [
            text
            for text in pool
            if not (low and text.startswith("{v}")) and not (personal and " of {o}" in text)
        ]
        return self.rng.choice(usable)

    def _tail(self, waiting: list[Fact], forms: Forms) -> str:
        """The next fact in the same sentence, taken from those `waiting`: " and sits in the Falcon Room"."""
        fact = waiting[0]
        fitting = [text for text in fact.kind.lead if text.startswith("{s} ")]
        if not fitting:
            return ""
        text = self.rng.choice(fitting).removeprefix("{s} ")
        return " and " + fill(text, forms, fact.kind, "", waiting.pop(0).value)

    def _plain(self, text: str, forms: Forms) -> str:
        return capital(text.format(s=forms[0], o=forms[1], p=forms[2], c=self.plan.company)) + "."


def pronouns(entity: Entity) -> Forms:
    """ "she, her, her"; for things "it, the lamp, its", as nobody writes "if a bulb breaks in it"."""
    subject, other, possessive = entity.pronouns
    return subject, entity.short if subject == "it" else other, possessive


def filled(template: str, fact: Fact, entity: Entity, forms: Forms) -> str:
    """A template with its words put in, without a full stop."""
    if "{s}" in template and "{p}" in template:  # "Ada celebrates her birthday"
        forms = (*forms[:2], entity.pronouns[2])
    return capital(fill(template, forms, fact.kind, "", fact.value))
