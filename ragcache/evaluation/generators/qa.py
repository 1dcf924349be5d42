"""Questions about a written story."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from ragcache.evaluation.generators import frames, names, values
from ragcache.evaluation.generators.kinds import OVERLAPS
from ragcache.evaluation.generators.plan import Plan
from ragcache.evaluation.generators.render import Cloze, Forms, capital, fill, named
from ragcache.evaluation.generators.schema import QA, Attribute, Entity, Fact, Value

NOT_STATED = "not stated"
SPANS = frozenset({"single", "two_hop", "list", "number", "recency", "cloze", "compare"})
DEFAULT_KINDS: Mapping[str, float] = {
    "single": 0.4, "two_hop": 0.22, "not_stated": 0.15, "number": 0.05, "list": 0.05, "yes_no": 0.05,
    "recency": 0.04, "compare": 0.04,
}  # fmt: skip


def ask(rng: Random, attribute: Attribute, forms: Forms, templates: str, possessive: bool = True) -> str:
    """A question for an attribute of what `forms` names; without `possessive`, never by "Ada's"."""
    own = attribute.ask.of(templates)
    pool = own if rng.random() < 0.6 else frames.ASK.of(templates)
    usable = [t for t in pool if possessive or "{p}" not in t]
    template = rng.choice(usable or frames.ASK.of(templates)[:1])
    return capital(fill(template, forms, attribute, rng.choice(attribute.nouns)))


class Asker:
    """Draws questions of each kind about one plan and its documents."""

    def __init__(self, plan: Plan, docs: tuple[str, ...], clozes: list[Cloze]) -> None:
        self.plan, self.rng, self.templates = plan, plan.rng, plan.split.templates
        self.text, self.clozes = "\n".join(docs), clozes
        self.makers: dict[str, Callable[[], QA | None]] = {
            "single": self._single, "number": self._number, "list": self._list, "two_hop": self._two_hop,
            "not_stated": self._not_stated, "yes_no": self._yes_no, "recency": self._recency,
            "compare": self._compare, "cloze": self._cloze,
        }  # fmt: skip

    def draw(self, count: int, kinds: Mapping[str, float]) -> tuple[QA, ...]:
        """Up to `count` different questions, kinds by weight; those the story cannot serve fall away."""
        found: dict[str, QA] = {}
        weights = {kind: weight for kind, weight in kinds.items() if weight > 0}
        misses = dict.fromkeys(weights, 0)
        while weights and len(found) < count:
            kind = self.rng.choices(list(weights), list(weights.values()))[0]
            made = self.makers[kind]()
            if made is None or made.question in found or not self._grounded(made):
                misses[kind] += 1
                if made is None or misses[kind] > 4:
                    del weights[kind]
                continue
            found[made.question] = made
        return tuple(found.values())

    def _grounded(self, made: QA) -> bool:
        return made.kind not in SPANS or made.answer in self.text

    def _choose(self, fits: Callable[[Fact], bool]) -> Fact | None:
        found = [fact for fact in self.plan.facts if fits(fact)]
        return self.rng.choice(found) if found else None

    def _ask(self, attribute: Attribute, forms: Forms, possessive: bool = True) -> str:
        return ask(self.rng, attribute, forms, self.templates, possessive)

    def _about(self, fact: Fact | None, kind: str) -> QA | None:
        if fact is None:
            return None
        question = self._ask(fact.attribute, named(fact.entity.ref))
        return QA(question, fact.value.answer, kind, fact.entity.name)

    def _single(self) -> QA | None:
        return self._about(self._choose(lambda f: not f.attribute.plural), "single")

    def _number(self) -> QA | None:
        return self._about(self._choose(lambda f: f.attribute.value in values.NUMERIC), "number")

    def _list(self) -> QA | None:
        return self._about(self._choose(lambda f: f.attribute.plural), "list")

    def _bridged(self, fact: Fact) -> Forms | None:
        """How to speak of the entity that a fact names without naming it."""
        links = fact.attribute.link.of(self.templates)
        if fact.value.target is None or not links:
            return None
        ref = fill(self.rng.choice(links), named(fact.entity.ref), fact.attribute, "")
        return named(ref)

    def _two_hop(self) -> QA | None:
        pairs = [
            (one, two)
            for one in self.plan.facts
            for two in self.plan.facts
            if one.value.target == two.entity and one.doc != two.doc and two.value.target != one.entity
        ]
        if not pairs:
            return None
        one, two = self.rng.choice(pairs)
        forms = self._bridged(one)
        if forms is None:
            return None
        question = self._ask(two.attribute, forms, len(forms[0].split()) < 4)
        return QA(question, two.value.answer, "two_hop", one.entity.name, two.entity.name)

    def _not_stated(self) -> QA | None:
        shape = self.rng.random()
        asked = self._missing_two_hop() if shape < 0.2 else self._stranger() if shape < 0.45 else None
        asked = asked or self._missing()
        return QA(asked, NOT_STATED, "not_stated") if asked else None

    def _used(self, kind: str) -> list[Attribute]:
        return list(dict.fromkeys(f.attribute for f in self.plan.facts if f.entity.kind == kind))

    def _open(self, entity: Entity) -> list[Attribute]:
        """Attributes that other entities have and that nothing in the story tells about this one."""
        given = self.plan.given(entity)
        named_elsewhere = entity.name in self.plan.mentioned
        return [
            a
            for a in self._used(entity.kind)
            if a.name not in given
            and OVERLAPS.get((entity.kind, a.name)) not in given
            # "Ada leads the Falcon team" would tell the team of Ada as well.
            and not (named_elsewhere and (a.link.train or a.value == "people"))
        ]

    def _missing(self) -> str | None:
        known = {e.name: e for e in [*self.plan.described(), *self.plan.mentioned.values()]}
        pairs = [(e, a) for e in known.values() for a in self._open(e)]
        if not pairs:
            return None
        entity, attribute = self.rng.choice(pairs)
        return self._ask(attribute, named(entity.ref))

    def _missing_two_hop(self) -> str | None:
        pairs = [
            (f, a)
            for f in self.plan.facts
            if (target := f.value.target) is not None
            for a in self._open(target)
        ]
        if not pairs:
            return None
        fact, attribute = self.rng.choice(pairs)
        forms = self._bridged(fact)
        return self._ask(attribute, forms, len(forms[0].split()) < 4) if forms else None

    def _stranger(self) -> str | None:
        """A question about someone who does not occur, often with a name much like one that does."""
        fact = self.rng.choice(self.plan.facts)
        other = names.MAKERS[fact.entity.kind](self.rng, self.plan.split)
        ref = other.ref
        if other.kind == "person" and self.rng.random() < 0.6:
            first, last = fact.entity.name.split(" ", 1)
            mine, own = other.name.split(" ", 1)
            ref = self.rng.choice((f"{first} {own}", f"{mine} {last}"))
        if ref in self.text or other.name in self.text:
            return None
        return self._ask(fact.attribute, named(ref))

    def _yes_no(self) -> QA | None:
        fact = self._choose(lambda f: f.attribute.value != "people")
        if fact is None:
            return None
        truth = self.rng.random() < 0.5
        value = fact.value if truth else self._wrong(fact)
        forms, attribute = named(fact.entity.ref), fact.attribute
        noun = self.rng.choice(attribute.nouns)
        if self.rng.random() < 0.5:
            template = self.rng.choice(frames.IS_VALUE.of(self.templates))
            return QA(fill(template, forms, attribute, noun, value), "yes" if truth else "no", "yes_no")
        told = attribute.say.of(self.templates)
        # "dial 402 to reach Ada" cannot follow "is it true that".
        plain = [t for t in told if t.startswith(("{s} ", "{p} ", "{v} ", "the "))]
        said = fill(self.rng.choice(plain or told), forms, attribute, noun, value)
        question = self.rng.choice(frames.IS_TRUE.of(self.templates)).format(statement=said)
        return QA(question, "yes" if truth else "no", "yes_no")

    def _wrong(self, fact: Fact) -> Value:
        """A value that the entity does not have: its old one, another entity's, or a new one."""
        pool = [f.value for f in self.plan.facts if f.attribute == fact.attribute]
        pool += [fact.old] if fact.old else []
        pool = [v for v in pool if v.answer != fact.value.answer]
        if pool and self.rng.random() < 0.7:
            return self.rng.choice(pool)
        while True:
            kind = fact.attribute.value
            if kind in names.MAKERS:
                made = names.MAKERS[kind](self.rng, self.plan.split)
                value = Value(made.ref, made.name)
            else:
                value = values.MAKERS[kind](self.rng, self.plan.split)
            if value.answer != fact.value.answer:
                return value

    def _recency(self) -> QA | None:
        fact = self._choose(lambda f: f.old is not None)
        if fact is None or fact.old is None:
            return None
        past = self.rng.random() < 0.35
        forms = named(fact.entity.ref)
        if not past and self.rng.random() < 0.4:
            question = self._ask(fact.attribute, forms)
            question = question[:-1] + " now?" if question.endswith("?") else question
            return QA(question, fact.value.answer, "recency", fact.entity.name)
        pool = (frames.ASK_OLD if past else frames.ASK_NOW).of(self.templates)
        noun = self.rng.choice(fact.attribute.nouns)
        question = capital(fill(self.rng.choice(pool), forms, fact.attribute, noun))
        answer = fact.old.answer if past else fact.value.answer
        return QA(question, answer, "recency", fact.entity.name)

    def _compare(self) -> QA | None:
        pairs = [
            (one, two)
            for one in self.plan.facts
            for two in self.plan.facts
            if one.attribute.more
            and one.attribute == two.attribute
            and one.value.unit == two.value.unit
            and (one.value.key or 0) > (two.value.key or 0)
        ]
        if not pairs:
            return None
        larger, smaller = self.rng.choice(pairs)
        more = self.rng.random() < 0.5
        template = self.rng.choice(larger.attribute.more if more else larger.attribute.less)
        refs = [larger.entity.ref, smaller.entity.ref]
        self.rng.shuffle(refs)
        question = template.format(a=refs[0], b=refs[1])
        if self.templates == "held_out":
            asked = template.split(", {a}")[0]
            question = f"{capital(refs[0])} or {refs[1]}: {asked[0].lower()}{asked[1:]}?"
        return QA(question, (larger if more else smaller).entity.name, "compare")

    def _cloze(self) -> QA | None:
        found = [c for c in self.clozes if self.text.count(c.prefix + " ") == 1]
        if not found:
            return None
        chosen = self.rng.choice(found)
        return QA(f"{chosen.prefix} ...", chosen.answer, "cloze")
