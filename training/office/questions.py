"""Questions about pages: facts, facts of what another page names, and what no page states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from ragcache.evaluation.generators.qa import NOT_STATED
from ragcache.evaluation.generators.render import capital, fill, named
from ragcache.evaluation.generators.schema import QA
from training.office.plan import Fact, Plan, Subject
from training.office.sorts import SLOTS, Kind

_STRANGER, _TWO_HOPS, _SHARED = 0.2, 0.35, 0.65


class Asker:
    """Draws questions about one plan and its pages."""

    def __init__(self, plan: Plan, pages: tuple[str, ...]) -> None:
        self.plan, self.text = plan, "\n".join(pages)
        self.rng: Random = plan.rng
        self.makers: dict[str, Callable[[], QA | None]] = {
            "single": lambda: self._about(lambda fact: not fact.kind.plural, "single"),
            "number": lambda: self._about(lambda fact: fact.value.answer[0].isdigit(), "number"),
            "list": lambda: self._about(lambda fact: fact.kind.plural, "list"),
            "two_hop": self._two_hop,
            "not_stated": self._not_stated,
        }

    def draw(self, count: int, kinds: Mapping[str, float]) -> tuple[QA, ...]:
        """Up to `count` different questions, kinds by weight; kinds that the story cannot serve fall away."""
        weights = {kind: kinds[kind] for kind in self.makers if kinds.get(kind)}
        misses, found = dict.fromkeys(weights, 0), dict[str, QA]()
        while weights and len(found) < count:
            kind = self.rng.choices(list(weights), list(weights.values()))[0]
            made = self.makers[kind]()
            if made is not None and made.question not in found:
                found[made.question] = made
                continue
            misses[kind] += 1
            if misses[kind] > 4:
                del weights[kind]
        return tuple(found.values())

    def _about(self, fits: Callable[[Fact], bool], name: str) -> QA | None:
        facts = [fact for fact in self.plan.facts if fits(fact)]
        if not facts:
            return None
        fact = self.rng.choice(facts)
        return self._answered(fact, self.plan.subjects[fact.page], name)

    def _answered(self, fact: Fact, subject: Subject, name: str) -> QA:
        question = self._ask(fact.kind, subject.entity.ref, self._stated(fact.kind) == 1)
        own = subject.entity.name
        return QA(question, fact.value.answer, name, own if own in question else "")

    def _ask(self, kind: Kind, ref: str, nameless: bool = False) -> str:
        """A question, `nameless` ones among them; a long reference has no possessive."""
        long = " of " in ref or len(ref.split()) > 4
        pool = [
            text
            for text in kind.ask.train
            if (nameless or any(slot in text for slot in SLOTS)) and not (long and "{p}" in text)
        ]
        return capital(fill(self.rng.choice(pool), named(ref), kind, ""))

    def _stated(self, kind: Kind) -> int:
        """How many pages tell a fact of the kind's topic."""
        return sum(fact.kind.topic == kind.topic for fact in self.plan.facts)

    def _bridged(self, fact: Fact) -> str:
        """What a fact names, described without its name, or ""."""
        if not fact.kind.link.train:
            return ""
        entity = self.plan.subjects[fact.page].entity
        return fill(self.rng.choice(fact.kind.link.train), named(entity.ref), fact.kind, "")

    def _two_hop(self) -> QA | None:
        pages = {subject.entity: page for page, subject in enumerate(self.plan.subjects)}
        pairs = [
            (one, two)
            for one in self.plan.facts
            if one.value.target in pages and one.kind.link.train
            for two in self.plan.of(pages[one.value.target])
            if two.value.target is not self.plan.subjects[one.page].entity
        ]
        if not pairs:
            return None
        one, two = self.rng.choice(pairs)
        subject, bridge = self.plan.subjects[one.page].entity, self.plan.subjects[two.page].entity
        return QA(
            self._ask(two.kind, self._bridged(one)), two.value.answer, "two_hop", subject.name, bridge.name
        )

    def _not_stated(self) -> QA | None:
        shape = self.rng.random()
        make = (
            self._of_stranger if shape < _STRANGER else self._missing_two_hop if shape < _TWO_HOPS else None
        )
        question = (make and make()) or self._missing()
        return QA(question, NOT_STATED, "not_stated") if question else None

    def _open(self, subject: Subject) -> list[Kind]:
        """Kinds that no page tells of a subject, mostly ones that are told of others."""
        name = subject.entity.name
        pages = [page for page, one in enumerate(self.plan.subjects) if one is subject]
        given = {fact.kind.topic for page in pages for fact in self.plan.of(page)}
        free = [kind for kind in subject.sort.kinds if kind.topic not in given]
        if name in self.plan.mentioned:  # "Ada runs the Vell Mill" tells where Ada works, more or less
            free = [kind for kind in free if not kind.family]
        told = {fact.kind for fact in self.plan.facts}
        shared = [kind for kind in free if kind in told]
        return shared if shared and self.rng.random() < _SHARED else free

    def _missing(self) -> str:
        subject = self.rng.choice([*self.plan.subjects, *self.plan.mentioned.values()])
        kinds = self._open(subject)
        if not kinds:
            return ""
        kind = self.rng.choice(kinds)
        return self._ask(kind, subject.entity.ref, self._stated(kind) == 0)

    def _missing_two_hop(self) -> str:
        named_facts = [fact for fact in self.plan.facts if fact.value.target and fact.kind.link.train]
        if not named_facts:
            return ""
        fact = self.rng.choice(named_facts)
        kinds = self._open(self.plan.mentioned[fact.value.answer])
        return self._ask(self.rng.choice(kinds), self._bridged(fact)) if kinds else ""

    def _of_stranger(self) -> str:
        """About somebody or something that no page knows, often with a name much like a known one."""
        fact = self.rng.choice(self.plan.facts)
        subject = self.plan.subjects[fact.page]
        ref = subject.sort.entity(self.rng, self.plan.split).ref
        known, own = subject.entity.name.split(" ", 1), ref.split(" ", 1)
        if subject.sort.family == "person" and self.rng.random() < 0.6:
            ref = self.rng.choice((f"{known[0]} {own[1]}", f"{own[0]} {known[1]}"))
        name = ref.removeprefix("the ")
        known_name = name in self.text or name in self.plan.names  # a title has it with a capital
        return "" if known_name else self._ask(fact.kind, ref)
