"""What chains of references are about: keys, safes, parcels, desks, calls, meetings, boxes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from ragcache.evaluation.generators import names, values
from ragcache.evaluation.generators.schema import Phrases, Split, phrases


@dataclass(frozen=True)
class Theme:
    """`name` draws the things, `value` the values that chains end with."""

    name: Callable[[Random, Split], str]
    value: Callable[[Random, Split], str]
    refer: Phrases
    end: Phrases
    ask: Phrases


def _person(rng: Random, split: Split) -> str:
    return names.person(rng, split).name


def _theme(name: Callable[[Random, Split], str], value: str, refer: str, end: str, ask: str) -> Theme:
    return Theme(
        name,
        lambda rng, split: values.MAKERS[value](rng, split).answer,
        phrases(refer),
        phrases(end),
        phrases(ask),
    )


THEMES = (
    _theme(names.noun, "room", """
        the key of room {a} is kept with the key of room {b}
        the key of room {a} hangs beside the key of room {b}
        whoever needs the key of room {a} finds it with the key of room {b}
        for the key of room {a}, look where the key of room {b} is
        the key of room {a} is in the same cabinet as the key of room {b}
        ~the key of room {a} is kept where the key of room {b} hangs
        ~look for the key of room {a} beside the key of room {b}""", """
        the key of room {a} hangs in cabinet {v}
        the key of room {a} is kept in cabinet {v}
        cabinet {v} holds the key of room {a}
        ~in cabinet {v} hangs the key of room {a}""", """
        In which cabinet is the key of room {a}?
        Which cabinet holds the key of room {a}?
        In which cabinet does the key of room {a} hang?
        Where is the key of room {a}: in which cabinet?
        ~In which cabinet is the key of room {a} kept?
        ~Name the cabinet that holds the key of room {a}."""),
    _theme(names.noun, "extension", """
        the {a} safe has the same code as the {b} safe
        the {a} safe opens with the code of the {b} safe
        to open the {a} safe, use the code of the {b} safe
        the code of the {a} safe was copied from the {b} safe
        the code of the {a} safe is that of the {b} safe
        ~use the code of the {b} safe to open the {a} safe
        ~the {a} safe has the code of the {b} safe""", """
        the {a} safe has the code {v}
        the {a} safe opens with the code {v}
        the code of the {a} safe is {v}
        ~use the code {v} to open the {a} safe""", """
        What is the code of the {a} safe?
        Which code opens the {a} safe?
        With which code does the {a} safe open?
        Which code does the {a} safe have?
        ~Name the code of the {a} safe.
        ~What code does the {a} safe open with?"""),
    _theme(names.code, "city", """
        parcel {a} travels with parcel {b}
        parcel {a} goes to the same town as parcel {b}
        parcel {a} was put on the van that carries parcel {b}
        parcel {a} is sent along with parcel {b}
        the van with parcel {b} also carries parcel {a}
        ~parcel {a} is on the van with parcel {b}
        ~parcel {a} is sent to the same town as parcel {b}""", """
        parcel {a} goes to {v}
        parcel {a} is sent to {v}
        a van carries parcel {a} to {v}
        ~parcel {a} travels to {v}""", """
        To which town does parcel {a} go?
        Where does parcel {a} go?
        To which town is parcel {a} sent?
        Where is parcel {a} sent?
        Where does parcel {a} travel to?
        To which town does a van carry parcel {a}?
        ~Where does a van carry parcel {a}?
        ~To which town does parcel {a} travel?"""),
    _theme(_person, "room", """
        {a} sits in the same room as {b}
        {a} shares a room with {b}
        {a} has a desk in the room of {b}
        {a} works in the room where {b} sits
        {a} has moved in with {b}
        ~{a} has a desk where {b} has one
        ~{a} has moved into the room of {b}""", """
        {a} sits in room {v}
        {a} has a desk in room {v}
        the desk of {a} is in room {v}
        {a} has moved into room {v}
        ~in room {v} is the desk of {a}""", """
        In which room does {a} sit?
        In which room is the desk of {a}?
        Which room does {a} sit in?
        What is the room of {a}?
        ~In which room does {a} have a desk?
        ~Name the room of {a}."""),
    _theme(_person, "extension", """
        calls to {a} are passed on to {b}
        {b} answers all calls to {a}
        whoever calls {a} is put through to {b}
        the phone of {a} passes calls on to {b}
        calls to {a} go to {b}
        ~all calls to {a} are put through to {b}
        ~whoever calls {a} is passed on to {b}""", """
        calls to {a} are answered at extension {v}
        {a} answers calls at extension {v}
        calls to {a} go to extension {v}
        ~whoever calls {a} is put through to extension {v}""", """
        At which extension are calls to {a} answered?
        To which extension do calls to {a} go?
        Which extension answers calls to {a}?
        At which extension does a call to {a} end?
        ~To which extension are calls to {a} passed on?
        ~At which extension is a call to {a} answered?"""),
    _theme(names.noun, "time", """
        the {a} meeting starts at the same time as the {b} meeting
        the {a} meeting starts when the {b} meeting starts
        the {a} meeting and the {b} meeting start together
        the {a} meeting begins at the time of the {b} meeting
        for the time of the {a} meeting, see the {b} meeting
        ~the {a} meeting begins together with the {b} meeting
        ~the {a} meeting begins when the {b} meeting begins""", """
        the {a} meeting starts at {v}
        the {a} meeting begins at {v}
        the time of the {a} meeting is {v}
        ~at {v}, the {a} meeting starts""", """
        When does the {a} meeting start?
        At what time does the {a} meeting start?
        At what time does the {a} meeting begin?
        What is the time of the {a} meeting?
        ~When does the {a} meeting begin?
        ~Name the time of the {a} meeting."""),
    _theme(names.code, "room", """
        box {a} stands inside box {b}
        box {a} was packed into box {b}
        to find box {a}, open box {b}
        box {b} holds box {a}
        box {a} is kept inside box {b}
        ~box {a} is packed inside box {b}
        ~open box {b} to find box {a}""", """
        box {a} stands in room {v}
        box {a} is kept in room {v}
        to find box {a}, go to room {v}
        room {v} holds box {a}
        ~go to room {v} to find box {a}""", """
        In which room is box {a}?
        In which room does box {a} stand?
        Which room holds box {a}?
        In which room is box {a} kept?
        ~To which room do I go to find box {a}?
        ~Name the room that holds box {a}."""),
)  # fmt: skip
