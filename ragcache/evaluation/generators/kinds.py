"""All entity kinds with their attributes."""

from __future__ import annotations

from ragcache.evaluation.generators import incident, person, place, policy, product, team
from ragcache.evaluation.generators.schema import Attribute

ATTRIBUTES: dict[str, tuple[Attribute, ...]] = {
    "person": person.ATTRIBUTES,
    "product": product.ATTRIBUTES,
    "place": place.ATTRIBUTES,
    "policy": policy.ATTRIBUTES,
    "incident": incident.ATTRIBUTES,
    "team": team.ATTRIBUTES,
}
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
