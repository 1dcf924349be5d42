"""All entity kinds with their attributes."""

from __future__ import annotations

from ragcache.evaluation.generators import (
    incident,
    incident_effects,
    person,
    person_life,
    place,
    place_visit,
    policy,
    policy_terms,
    product,
    product_trade,
    team,
    team_details,
)
from ragcache.evaluation.generators.schema import Attribute
from ragcache.evaluation.generators.wordings import enriched

_WRITTEN: dict[str, tuple[Attribute, ...]] = {
    "person": (*person.ATTRIBUTES, *person_life.ATTRIBUTES),
    "product": (*product.ATTRIBUTES, *product_trade.ATTRIBUTES),
    "place": (*place.ATTRIBUTES, *place_visit.ATTRIBUTES),
    "policy": (*policy.ATTRIBUTES, *policy_terms.ATTRIBUTES),
    "incident": (*incident.ATTRIBUTES, *incident_effects.ATTRIBUTES),
    "team": (*team.ATTRIBUTES, *team_details.ATTRIBUTES),
}
ATTRIBUTES = {kind: enriched(kind, attributes) for kind, attributes in _WRITTEN.items()}
KINDS = tuple(ATTRIBUTES)
LINKS = tuple(
    (kind, attribute) for kind, found in ATTRIBUTES.items() for attribute in found if attribute.link.train
)
# Attributes of one entity that answer each other's questions in part: never asked for as not stated when
# the other is given, and never both given.
OVERLAPS = {
    ("product", "colour"): "colours",
    ("product", "colours"): "colour",
    ("team", "size"): "members",
    ("team", "members"): "size",
    ("person", "office"): "room",
    ("person", "room"): "office",
    ("place", "address"): "city",
    ("place", "city"): "address",
}
