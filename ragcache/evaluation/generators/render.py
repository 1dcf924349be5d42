"""Writing a plan down: sentences, lists and headings, document by document."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from random import Random

from ragcache.evaluation.generators import frames
from ragcache.evaluation.generators.plan import Plan
from ragcache.evaluation.generators.schema import Attribute, Entity, Fact, Phrases, Value

Forms = tuple[str, str, str]
_OF_OBJECT = re.compile(r"\bthe ((?:(?!\bthe\b)[^,.])+?) of \{o\}")


@dataclass(frozen=True)
class Cloze:
    """A sentence up to its value, and the value."""

    prefix: str
    answer: str


def named(ref: str) -> Forms:
    """Subject, object and possessive of a name."""
    return ref, ref, f"{ref}'s"


def article(word: str) -> str:
    """ "a" or "an"."""
    return "an" if word[0].lower() in "aeiou" and not word.lower().startswith(("uni", "eu", "one")) else "a"


@cache
def _possessive(template: str) -> str:
    """ "the price of it" said as "its price"."""
    return _OF_OBJECT.sub(r"{p} \1", template)


def fill(template: str, forms: Forms, attribute: Attribute, noun: str, value: Value | None = None) -> str:
    """A template of an attribute with its subject, noun and value put in."""
    text = value.text if value else ""
    return template.format(
        **{
            "s": forms[0], "o": forms[1], "p": forms[2], "n": noun, "v": text,
            "is": "are" if attribute.plural else "is", "Is": "Are" if attribute.plural else "Is",
            "wh": "Who" if attribute.wh == "Who" else "What",
            "a": article(text) if text else "", "in": value.preposition if value else "",
            "v0": "{v0}", "y": "{y}", "y0": "{y0}",
        }
    )  # fmt: skip


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def statement(rng: Random, fact: Fact, forms: Forms, templates: str, pronoun: bool = False) -> str:
    """One fact in lower case and without a full stop."""
    own = fact.attribute.say.of(templates)
    pool = own if rng.random() < 0.62 else frames.STATE.of(templates)
    template = rng.choice(pool)
    if pronoun and template.startswith(("{s},", "for {o},", "concerning {o},")):
        template = pool[0]
    if pronoun:
        template = _possessive(template)
    return fill(template, forms, fact.attribute, rng.choice(fact.attribute.nouns), fact.value)


def sentence(rng: Random, fact: Fact, forms: Forms, templates: str, pronoun: bool = False) -> str:
    """One fact as a full sentence, perhaps after an adjunct."""
    body = statement(rng, fact, forms, templates, pronoun)
    # A value in lower case at the start would lose its spelling to the capital.
    starts_low = body.startswith(fact.value.text) and fact.value.answer[0].islower()
    sourced = any(word in body for word in ("the register", "the list", "the file", "the entry"))
    if starts_low or (not sourced and rng.random() < 0.14):
        body = f"{adjunct(rng, fact, templates)} {body}"
    return capital(body) + "."


def adjunct(rng: Random, fact: Fact, templates: str) -> str:
    """ "according to the register," """
    if fact.attribute.changes and rng.random() < 0.5:
        return rng.choice(frames.NOW.of(templates))
    return rng.choice(frames.SAYS.of(templates)).format(source=rng.choice(frames.SOURCES))


def changed(rng: Random, fact: Fact, forms: Forms, templates: str, pronoun: bool) -> str:
    """A fact with the value it had before, or its new value alone if another document has the old one."""
    pool: Phrases = frames.NEW if fact.old_doc >= 0 else frames.CHANGE
    special = fact.attribute.name if fact.attribute.name == "price" else fact.attribute.value
    if special == "city" and fact.entity.kind != "person":
        special = ""
    if pool is frames.CHANGE and special in frames.CHANGE_BY_KIND and rng.random() < 0.6:
        pool = frames.CHANGE_BY_KIND[special]
    return capital(_dated(rng, rng.choice(pool.of(templates)), fact, forms, pronoun)) + "."


def earlier(rng: Random, fact: Fact, templates: str) -> str:
    """The old value of a fact, for the document that tells only that."""
    template = rng.choice(frames.OLD.of(templates))
    return capital(_dated(rng, template, fact, named(fact.entity.ref), False)) + "."


def _dated(rng: Random, template: str, fact: Fact, forms: Forms, pronoun: bool) -> str:
    template = _possessive(template) if pronoun else template
    text = fill(template, forms, fact.attribute, rng.choice(fact.attribute.nouns), fact.value)
    old = fact.old.text if fact.old else ""
    text = text.replace("{v0}", old).replace("{y0}", str(fact.year - rng.randrange(1, 8)))
    parts = text.replace("{y}", str(fact.year)).split(". ")
    return ". ".join([parts[0], *(capital(part) for part in parts[1:])])


class Writer:
    """Writes the documents of a plan and keeps the sentences that can be asked as cloze."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.rng, self.templates = plan, plan.rng, plan.split.templates
        self.clozes: list[Cloze] = []

    def documents(self) -> tuple[str, ...]:
        """All documents, in order."""
        return tuple(self._document(doc, group) for doc, group in enumerate(self.plan.groups))

    def _document(self, doc: int, group: list[Entity]) -> str:
        rng = self.rng
        facts = {e.name: [f for f in self.plan.facts if f.doc == doc and f.entity == e] for e in group}
        told = [e for e in group if facts[e.name]]
        if len(told) == 1 and rng.random() < 0.28:
            text = self._listed(told[0], facts[told[0].name])
        else:
            title = self._title(group[0]) + "\n" if len(told) == 1 and rng.random() < 0.3 else ""
            parts = [self._prose(e, facts[e.name], titled=bool(title), alone=len(told) == 1) for e in told]
            text = title + " ".join(part for part in parts if part)
        extra = [earlier(rng, f, self.templates) for f in self.plan.facts if f.old_doc == doc]
        if not text or rng.random() < 0.2:
            extra.append(rng.choice(frames.PROSE))
        gap = " " if not text or text[-1] == "." else "\n"
        return gap.join(part for part in (text, " ".join(extra)) if part)

    def _title(self, entity: Entity) -> str:
        template = self.rng.choice(frames.TITLES.of(self.templates))
        label = self.rng.choice(frames.LABELS[entity.kind])
        name = entity.name if template.startswith(("About", "Notes")) else capital(entity.name)
        return template.format(name=name, label=label, kind=entity.kind)

    def _listed(self, entity: Entity, facts: list[Fact]) -> str:
        """The heading, then a line per fact; changes as sentences at the end."""
        shape = self.rng.choice(
            ("- {n}: {v}", "- {n}: {v}", "{n}: {v}", "{n}: {v}", "| {n} | {v} |", "* {n} - {v}")
        )
        rows = [self._title(entity)]
        for fact in facts:
            if fact.old is None:
                noun = capital(self.rng.choice(fact.attribute.nouns))
                rows.append(shape.format(n=noun, v=fact.value.text))
        for fact in facts:
            if fact.old is not None:
                rows.append(changed(self.rng, fact, named(entity.ref), self.templates, False))
        return "\n".join(rows)

    def _prose(self, entity: Entity, facts: list[Fact], titled: bool, alone: bool) -> str:
        rng, written, at = self.rng, [], 0
        while at < len(facts):
            fact = facts[at]
            known = at > 0 or (titled and rng.random() < 0.25)
            forms, pronoun = self._mention(entity, known, alone)
            if fact.old is not None:
                written.append(changed(rng, fact, forms, self.templates, pronoun))
            elif at + 1 < len(facts) and facts[at + 1].old is None and rng.random() < 0.22:
                written.append(self._pair(fact, facts[at + 1], forms, pronoun))
                at += 1
            else:
                text = sentence(rng, fact, forms, self.templates, pronoun)
                written.append(text)
                self._keep(text, fact)
            at += 1
        return " ".join(written)

    def _mention(self, entity: Entity, known: bool, alone: bool) -> tuple[Forms, bool]:
        """A pronoun, a short form ("the lamp") where only one entity is told of, or the full name."""
        shape = self.rng.random()
        if known and shape < 0.42:
            return entity.pronouns, True
        if known and alone and shape < 0.7:
            return named(entity.short), False
        return named(entity.ref), False

    def _pair(self, first: Fact, second: Fact, forms: Forms, pronoun: bool) -> str:
        """Two facts in one sentence."""
        rng = self.rng
        if not pronoun and rng.random() < 0.4:
            noun = rng.choice(second.attribute.nouns)
            verb = "are" if second.attribute.plural else "is"
            aside = f"{forms[0]}, whose {noun} {verb} {second.value.text},"
            own = [t for t in first.attribute.say.of(self.templates) if t.startswith("{s} ")]
            if own:
                text = fill(rng.choice(own), (aside, aside, aside), first.attribute, noun, first.value)
                return capital(text) + "."
        head = sentence(rng, first, forms, self.templates, pronoun)[:-1]
        tail = statement(rng, second, first.entity.pronouns, self.templates, True)
        return f"{head}{rng.choice(frames.JOIN.of(self.templates))} {tail}."

    def _keep(self, text: str, fact: Fact) -> None:
        end = text.find(fact.value.answer)
        if end > 0 and fact.entity.name in text[:end]:
            self.clozes.append(Cloze(text[:end].rstrip(), fact.value.answer))
