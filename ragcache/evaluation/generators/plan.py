"""What a story tells: entities, the facts of each, and the document that states each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from ragcache.evaluation.generators import names, values
from ragcache.evaluation.generators.kinds import ATTRIBUTES, KINDS, LINKS, OVERLAPS
from ragcache.evaluation.generators.schema import Attribute, Entity, Fact, Split, Value

_KIND_WEIGHTS = {"person": 4.0, "product": 2.0, "place": 1.6, "policy": 2.0, "incident": 1.6, "team": 2.0}


@dataclass
class Plan:
    """Facts of a story; `groups[d]` are the entities of document d in order of appearance."""

    rng: Random
    split: Split
    groups: list[list[Entity]] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    mentioned: dict[str, Entity] = field(default_factory=dict)
    shorts: set[str] = field(default_factory=set)

    def entity(self, kind: str) -> Entity:
        """A new entity whose name, and first name, no other entity of the story has."""
        while True:
            made = names.MAKERS[kind](self.rng, self.split)
            short = made.short if kind == "person" else made.name
            if short not in self.shorts and not any(made.name in other for other in self.shorts):
                self.shorts.update((short, made.name))
                return made

    def given(self, entity: Entity) -> set[str]:
        """Names of the attributes that are stated for an entity."""
        return {fact.attribute.name for fact in self.facts if fact.entity == entity}

    def described(self) -> list[Entity]:
        """Entities that some document describes, once each."""
        return list(dict.fromkeys(entity for group in self.groups for entity in group))


def draw(rng: Random, split: Split, docs: tuple[int, int], facts: tuple[int, int], change: float) -> Plan:
    """A plan with docs[0]-docs[1] documents of facts[0]-facts[1] facts; `change` is the share of
    changed values among those that may change."""
    plan = Plan(rng, split)
    link = rng.choice(LINKS) if rng.random() < 0.7 else None
    kinds = _kinds(rng, rng.randint(*docs), link)
    _cast(plan, kinds)
    # Not a set: its order, and with it the story, would differ from one process to the next.
    wanted = {kind: _subset(rng, kind, link, facts[1] + 2) for kind in dict.fromkeys(kinds)}
    for doc, group in enumerate(plan.groups):
        count = rng.randint(*facts)
        for at in range(count):
            _state(plan, doc, group[at * len(group) // count], wanted, link, change)
    order = list(range(len(plan.groups)))
    rng.shuffle(order)
    plan.groups = [plan.groups[at] for at in order]
    place = {old: new for new, old in enumerate(order)}
    plan.facts = [replace(f, doc=place[f.doc], old_doc=place.get(f.old_doc, -1)) for f in plan.facts]
    return plan


def _kinds(rng: Random, count: int, link: tuple[str, Attribute] | None) -> list[str]:
    if link is None:
        pool = rng.choices(KINDS, list(_KIND_WEIGHTS.values()), k=rng.choice((1, 1, 2, 3)))
        return [rng.choice(pool) for _ in range(count)]
    pool = [link[0], link[1].value]
    return (pool + [rng.choice(pool) for _ in range(count)])[:count]


def _subset(rng: Random, kind: str, link: tuple[str, Attribute] | None, size: int) -> list[Attribute]:
    """The attributes that this story uses of a kind: few, so that entities share them."""
    chosen = rng.sample(ATTRIBUTES[kind], min(size, len(ATTRIBUTES[kind])))
    if link is not None and link[0] == kind and link[1] not in chosen:
        chosen[0] = link[1]
    return chosen


def _cast(plan: Plan, kinds: Sequence[str]) -> None:
    rng = plan.rng
    for doc, kind in enumerate(kinds):
        leads = [group[0] for group in plan.groups]
        # At most two documents lead with one entity: its attributes would run out.
        same = [lead for lead in leads if lead.kind == kind and leads.count(lead) == 1]
        if doc > 1 and same and rng.random() < 0.15:
            plan.groups.append([rng.choice(same)])
            continue
        group = [plan.entity(kind)]
        if rng.random() < 0.18:
            group.append(plan.entity(rng.choice(kinds)))
        plan.groups.append(group)


def _free(attributes: Sequence[Attribute], entity: Entity, given: set[str]) -> list[Attribute]:
    """Attributes that are not given yet, neither themselves nor through one that overlaps."""
    return [a for a in attributes if a.name not in given and OVERLAPS.get((entity.kind, a.name)) not in given]


def _state(
    plan: Plan,
    doc: int,
    entity: Entity,
    wanted: dict[str, list[Attribute]],
    link: tuple[str, Attribute] | None,
    change: float,
) -> None:
    given = plan.given(entity)
    free = _free(wanted[entity.kind], entity, given) or _free(ATTRIBUTES[entity.kind], entity, given)
    if not free:
        return
    attribute = plan.rng.choice(free)
    if (
        link is not None
        and link[0] == entity.kind
        and link[1] in free
        and (doc == 0 or plan.rng.random() < 0.3)
    ):
        attribute = link[1]
    value = _value(plan, doc, entity, attribute)
    fact = Fact(entity, attribute, value, doc)
    if attribute.changes and plan.rng.random() < change:
        old = _value(plan, doc, entity, attribute)
        apart = len(plan.groups) > 1 and plan.rng.random() < 0.3
        others = [other for other in range(len(plan.groups)) if other != doc]
        if old.answer not in value.answer and value.answer not in old.answer:
            fact = replace(
                fact,
                old=old,
                year=plan.rng.randrange(2009, 2026),
                old_doc=plan.rng.choice(others) if apart else -1,
            )
    plan.facts.append(fact)


def _value(plan: Plan, doc: int, entity: Entity, attribute: Attribute) -> Value:
    """A value that no other entity has for this attribute, except for entities, which may be shared."""
    if attribute.value in names.MAKERS:
        known = [e for other, group in enumerate(plan.groups) if other != doc for e in group]
        known = [e for e in known if e.kind == attribute.value and e != entity]
        linked = known and plan.rng.random() < 0.65
        target = plan.rng.choice(known) if linked else plan.entity(attribute.value)
        plan.mentioned[target.name] = target
        return Value(target.ref, target.name, target=target)
    taken = {fact.value.answer for fact in plan.facts if fact.attribute == attribute}
    for _ in range(6):
        value = values.MAKERS[attribute.value](plan.rng, plan.split)
        if value.answer not in taken:
            break
    return value
