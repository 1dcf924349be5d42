"""What a story of pages tells: subjects, a page each, and their facts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from random import Random

from ragcache.evaluation.generators import names
from ragcache.evaluation.generators.schema import Entity, Split, Value
from training.office.sorts import FAMILIES, Kind, Sort, sorts
from training.office.values import expand

# Policies and people have most kinds, and are what handbooks are mostly about.
_WEIGHTS = {"person": 4, "policy": 4, "place": 3, "product": 3, "incident": 2}
_PROPER = 0.5  # the rank of names among kinds: they come first more often, as they are hard to copy
_LINKED, _ONE_SORT, _KNOWN = 0.65, 0.6, 0.7


@dataclass(frozen=True)
class Fact:
    """Page `page` says `value` of its subject."""

    page: int
    kind: Kind
    value: Value


@dataclass(frozen=True)
class Subject:
    """What a page is about, or what one mentions."""

    entity: Entity
    sort: Sort


@dataclass
class Plan:
    """`subjects[i]` is the subject of page i; `mentioned` are all that values name, by name."""

    rng: Random
    split: Split
    company: str
    subjects: list[Subject] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    mentioned: dict[str, Subject] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    def subject(self, sort: Sort) -> Subject:
        """A new one, whose name is not part of another name or the other way round."""
        while True:
            entity = sort.entity(self.rng, self.split)
            taken = {entity.name, entity.short} if sort.family == "person" else {entity.name}
            if not any(name in other or other in name for name in taken for other in self.names):
                self.names |= taken
                return Subject(entity, sort)

    def of(self, page: int) -> list[Fact]:
        """The facts of a page, in order."""
        return [fact for fact in self.facts if fact.page == page]


def draw(rng: Random, split: Split, docs: tuple[int, int], facts: tuple[int, int]) -> Plan:
    """docs[0] to docs[1] pages of facts[0] to facts[1] facts, of one family or one that names another."""
    plan = Plan(rng, split, names.company(rng, split))
    family = rng.choices(FAMILIES, [_WEIGHTS.get(name, 1) for name in FAMILIES])[0]
    main = rng.choice(sorts(family))
    count = rng.randint(*docs)
    links = [kind for kind in main.kinds if kind.family]
    link = rng.choice(links) if links and count > 1 and rng.random() < _LINKED else None
    linked = rng.randint(1, count // 2) if link else 0
    same = rng.random() < _ONE_SORT
    chosen = [main] + [main if same else rng.choice(sorts(family)) for _ in range(count - linked - 1)]
    chosen += [rng.choice(sorts(link.family)) for _ in range(linked) if link]
    plan.subjects = [plan.subject(sort) for sort in rng.sample(chosen, count)]
    # Every page takes from the same few kinds, so that a question fits several pages.
    rank: defaultdict[Kind, float] = defaultdict(rng.random)
    if link:
        rank[link] = 0.0
    for page, subject in enumerate(plan.subjects):
        pool = sorted(subject.sort.kinds, key=lambda kind: rank[kind] * (_PROPER if kind.proper else 1.0))
        pool = pool[: facts[1] + 2]
        told = rng.sample(pool, min(rng.randint(*facts), len(pool)))
        if link in pool and link not in told:
            told[0] = link
        plan.facts += [Fact(page, kind, _value(plan, page, kind)) for kind in told]
    return plan


def _own(text: str, entity: Entity, company: str) -> str:
    """A value with the words of its subject's name in it, as e-mail addresses have."""
    if "{" not in text:
        return text
    words = entity.name.lower().split()
    host = company.split()[0].lower()
    return text.format(first=words[0], last=words[-1], f=words[0][0], host=host).lower()


def _value(plan: Plan, page: int, kind: Kind) -> Value:
    """A value that no other page has for this kind; subjects may be named by several."""
    if kind.family:
        own = plan.subjects[page]
        mine = {plan.subjects[f.page] for f in plan.facts if f.kind is kind and f.value.target is own.entity}
        known = [one for one in plan.subjects if one.sort.family == kind.family and one not in {own, *mine}]
        if known and plan.rng.random() < _KNOWN:
            target = plan.rng.choice(known)
        else:
            target = plan.subject(plan.rng.choice(sorts(kind.family)))
        plan.mentioned[target.entity.name] = target
        return Value(target.entity.ref, target.entity.name, target=target.entity)
    taken = {fact.value.text for fact in plan.facts if fact.kind is kind or fact.page == page}
    for _ in range(8):
        text = _own(expand(plan.rng, plan.split, kind.value), plan.subjects[page].entity, plan.company)
        if text not in taken:
            break
    return Value(text, text.removeprefix("the "))
