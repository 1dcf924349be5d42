"""Phrases that fit every attribute: statements, questions, changes, adjuncts, headings, plain prose."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import Phrases, lines, phrases
from ragcache.evaluation.generators.wordings import more, table


def framed(pool: str, text: str) -> Phrases:
    """The templates of a pool with those of the data file."""
    return more(phrases(text), table("frames")[pool]["lines"])


STATE = framed(
    "state",
    """
    {p} {n} {is} {v}
    the {n} of {o} {is} {v}
    {v} {is} the {n} of {o}
    for {o}, the {n} {is} {v}
    {s} has {v} listed as {n}
    the {n} given for {o} {is} {v}
    the list shows {v} as the {n} of {o}
    as the {n} of {o}, the register gives {v}
    concerning {o}, the {n} {is} {v}
    {p} {n}, we are told, {is} {v}
    to whoever asks, the {n} of {o} {is} given as {v}
    the entry under {n} for {o} is {v}
    {v} {is} given as {p} {n}
    {v} {is} what the file names as {p} {n}
    {s} has {v} as {n}
    {v} {is} named as the {n} of {o}
    ~the file on {o} names {v} as the {n}
    ~under {n}, the entry for {o} says {v}
    ~where {o} is concerned, the {n} {is} {v}
    ~whoever asks for the {n} of {o} is told: {v}""",
)
ASK = framed(
    "ask",
    """
    {wh} {is} {p} {n}?
    {wh} {is} the {n} of {o}?
    Tell me the {n} of {o}.
    Name the {n} of {o}.
    Give {p} {n}.
    Do you know the {n} of {o}?
    I would like to know the {n} of {o}.
    Please find {p} {n}.
    {wh} {is} given as the {n} of {o}?
    State the {n} of {o}.
    I am asking for {p} {n}.
    Could you give me the {n} of {o}?
    Look up {p} {n}.
    Find the {n} of {o}.
    {wh} do we have as the {n} of {o}?
    Can you tell me {p} {n}?
    ~Could you look up the {n} of {o}?
    ~Please state {p} {n}.
    ~I am looking for the {n} of {o}.""",
)
CHANGE = framed(
    "change",
    """
    {p} {n} was {v0} until {y}, when it changed to {v}
    the {n} of {o} was {v0} at first. In {y}, it changed to {v}
    in {y}, the {n} of {o} changed from {v0} to {v}
    the {n} of {o} is now {v}; it used to be {v0}
    until {y}, {p} {n} was {v0}. Since then, it has been {v}
    since {y}, {p} {n} has been {v}. Before that, it was {v0}
    {p} {n} is {v}, no longer {v0}
    {p} {n} was {v0}. This changed in {y}: it is {v} now
    {v0} was replaced by {v} as {p} {n} in {y}
    once, the {n} of {o} was {v0}, but in {y} it became {v}
    {p} {n} is {v} and has been since {y}; before that, it was {v0}
    {p} {n} started as {v0} and became {v} in {y}
    ~{v} replaced {v0} as the {n} of {o} in {y}
    ~{p} {n} used to be {v0}, but from {y} on it was {v}
    ~what was once {v0} became {v} in {y}: the {n} of {o}""",
)
CHANGE_BY_KIND = {
    "city": phrases("""
        {s} lived in {v0}. In {y}, {s} moved to {v}
        {s} moved from {v0} to {v} in {y}
        {s} first lived in {v0} and later moved to {v}
        before moving to {v} in {y}, {s} lived in {v0}
        {s} left {v0} for {v} in {y}
        {s} lived in {v0} for years and settled down in {v} in {y}
    {s} once had a flat in {v0}, gave it up in {y} and now lives in {v}
    {p} home was {v0}, but since {y} it has been {v}
    in {y}, {s} left {v0} to live in {v}
    ~{s} gave up a flat in {v0} and settled in {v} in {y}
        ~{v} has been home to {o} since {y}, after years in {v0}"""),
    "price": phrases("""
        {s} used to cost {v0} and now costs {v}
        the price of {o} went from {v0} to {v} in {y}
        until {y}, {s} cost {v0}. It costs {v} today
        put on sale at {v0}, {s} has cost {v} since {y}
    {s} was once sold for {v0}, but now costs {v}
    ~in {y}, {s}, once {v0}, was put on sale for {v}"""),
    "person": phrases("""
        {v0} handed the role of {n} of {o} to {v} in {y}
        in {y}, {v} took over from {v0} as {n} of {o}
        {v} followed {v0} as {n} of {o}
        {v} became {n} of {o} in {y} in place of {v0}
    {v0} left the role of {n} of {o} to {v} in {y}
    ~when {v0} left in {y}, {v} became {n} of {o}"""),
}
OLD = framed(
    "old",
    """
    in {y0}, the {n} of {o} was {v0}
    in {y0}, {p} {n} was still {v0}
    a note from {y0} gives {v0} as the {n} of {o}
    looking back, the {n} of {o} was {v0} in {y0}
    ~back in {y0}, {v0} was the {n} of {o}""",
)
NEW = framed(
    "new",
    """
    in {y}, the {n} of {o} changed to {v}
    since {y}, {p} {n} has been {v}
    from {y} on, the {n} of {o} was {v}
    it was in {y} that {v} became the {n} of {o}
    ~{p} {n} became {v} in {y}""",
)
ASK_NOW = framed(
    "ask_now",
    """
    {wh} is the current {n} of {o}?
    {wh} is {p} {n} now?
    {wh} is {p} latest {n}?
    {wh} is the new {n} of {o}?
    {wh} is {p} {n} as of today?
    {wh} is the {n} of {o} at present?
    ~{wh} is the {n} of {o} today?
    ~{wh} is {p} {n} these days?""",
)
ASK_OLD = framed(
    "ask_old",
    """
    {wh} was the {n} of {o} before the change?
    {wh} was {p} earlier {n}?
    {wh} was {p} previous {n}?
    {wh} was the former {n} of {o}?
    {wh} was {p} old {n}, before the change?
    {wh} was {p} {n} before that?
    ~{wh} was the old {n} of {o}?
    ~{wh} was the {n} of {o} at first?""",
)
IS_TRUE = phrases("""
    Is it true that {statement}?
    Do the documents say that {statement}?
    Is it correct that {statement}?
    Can you confirm that {statement}?
    Do you agree that {statement}?
    Is it said anywhere that {statement}?
    Would it be right to say that {statement}?
    ~Can it be said that {statement}?
    ~Would you agree that {statement}?""")
IS_VALUE = phrases("""
    {Is} {v} the {n} of {o}?
    {Is} {p} {n} {v}?
    {Is} the {n} of {o} {v}?
    Do the documents give {v} as the {n} of {o}?
    {Is} {p} {n} named as {v}?
    {Is} {p} {n} listed as {v}?
    ~{Is} {v} listed as the {n} of {o}?
    ~{Is} {v} named as {p} {n}?""")
SOURCES = lines("""
    register
    case file
    record book
    intranet
    handbook
    staff list
    notice board
    archive
    log sheet
    annual report
    newsletter
    latest memo
    database
    front desk
    guide
    schedule
    log book
    wiki
    secretary""")
SAYS = phrases("""
    according to the {source},
    as the {source} says,
    the {source} says that
    the {source} tells us that
    it is known from the {source} that
    if you look at the {source},
    the {source} is right in saying that
    ~if the {source} is right,
    ~a look at the {source} shows that""")
NOW = phrases("""
    at present,
    these days,
    as of this spring,
    at the moment,
    for now,
    currently,
    as things stand,
    at this time,
    as I write this,
    as of today,
    ~today,
    ~at the time of writing,""")
JOIN = phrases("""
    , and
    ; also,
    , while
    , and in addition
    ; moreover,
    ; in addition,
    ~; what is more,""")
TITLES = phrases("""
    {name}
    # {name}
    ## {name}
    {label}: {name}
    About {name}
    {name} ({kind})
    Notes on {name}
    Profile: {name}
    The facts: {name}
    Entry: {name}
    ~Fact sheet: {name}
    ~=== {name} ===""")
LABELS = {
    "person": ("Staff", "Employee", "Person", "Name"),
    "product": ("Product", "Item", "Catalogue"),
    "place": ("Site", "Location", "Place"),
    "policy": ("Policy", "Handbook", "Rules"),
    "incident": ("Incident", "Report", "Log"),
    "team": ("Team", "Group", "Organisation"),
}
PROSE = lines("""
    The coffee on the second floor is free of charge.
    Please keep the corridors clear at all times.
    Visitors are asked to sign the book at the entrance.
    Last winter was colder than expected.
    Many colleagues come to work by bicycle.
    The canteen serves soup and salad every noon.
    Thank you for reading this note to the end.
    The plants in the lobby are watered twice a week.
    A new carpet was laid in the hallway.
    Questions are always welcome.
    The lift was serviced without any trouble.
    The summer party was a great success.
    Some of the older files have been scanned.
    Everyone agreed that the view from the roof is lovely.
    The weather was fine on most days.
    Several people brought cake.
    The next issue of the newsletter is in preparation.
    Photographs of the event hang in the lobby.
    It is worth taking the stairs now and then.
    The old filing cabinets were given away.
    This page is kept short on purpose.
    More details follow when they are known.
    Spare keys are kept in a safe.
    The bus stops right in front of the door.
    Nobody minded the long wait.
    The windows were cleaned last week.
    Good tools make light work.
    The heating is turned down at night.
    Lunch breaks may be taken in the garden.
    A great deal of work has gone into this.
    The text below was checked twice.
    Most of the feedback has been friendly.
    The printer by the window is out of paper again.
    All entries were copied from paper cards.
    Birds have built a nest under the roof.
    The parking area was repainted in autumn.""")
