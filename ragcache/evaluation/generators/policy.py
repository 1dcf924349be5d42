"""Attributes of policies."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("limit", "limit; upper limit; maximum amount", "amount", """
        {s} allows up to {v}
        {s} covers costs of up to {v}
        under {o}, no more than {v} is paid
        {s} pays {v} at most
        claims under {o} stop at {v}
        ~{s} is capped at {v}
        ~more than {v} is never paid under {o}""", """
        How much does {s} allow?
        Up to what amount does {s} pay?
        How much is paid at most under {o}?
        What is the most that {s} covers?
        ~At what amount is {s} capped?
        ~How much can I claim under {o}?""", changes=True, more="""
        Which allows a higher amount, {a} or {b}?
        Which has the higher limit, {a} or {b}?""", less="""
        Which allows a lower amount, {a} or {b}?
        Which has the lower limit, {a} or {b}?"""),
    attribute("notice", "notice period; advance notice", "days", """
        {s} requires notice of {v}
        requests under {o} must be made {v} ahead
        {s} asks for {v} of notice
        under {o}, staff give notice of {v}
        ~tell your manager {v} before using {o}
        ~{s} applies only with {v} of warning""", """
        How much notice does {s} require?
        How far ahead must requests under {o} be made?
        How long is the notice period of {o}?
        What notice does {s} ask for?
        ~How long before using {o} must I tell my manager?
        ~How early must I ask under {o}?""", changes=True, more="""
        Which has the longer notice period, {a} or {b}?""", less="""
        Which has the shorter notice period, {a} or {b}?"""),
    attribute("approver", "approver; contact person", "person", """
        requests under {o} are approved by {v}
        {v} approves requests under {o}
        {v} signs off on {o}
        {s} needs the signature of {v}
        ~{v} has the last word on {o}
        ~nothing happens under {o} without {v}""", """
        Who approves requests under {o}?
        Who signs off on {o}?
        By whom are requests under {o} approved?
        Whose signature does {s} need?
        ~Who has the last word on {o}?
        ~Whose consent do I need under {o}?""", wh="Who", changes=True, link="""
        the approver of {o}
        the person who approves requests under {o}
        the person who signs off on {o}
        ~the one who has the last word on {o}"""),
    attribute("author", "author; writer", "person", """
        {s} was written by {v}
        {v} wrote {o}
        {v} drew up {o}
        the text of {o} comes from {v}
        ~{v} put {o} on paper
        ~{s} was drafted by {v}""", """
        Who wrote {o}?
        By whom was {s} written?
        Who drew up {o}?
        From whom does the text of {o} come?
        ~Who drafted {o}?
        ~Who put {o} on paper?""", wh="Who", link="""
        the author of {o}
        the person who wrote {o}
        ~the one who drafted {o}"""),
    attribute("deadline", "deadline; final date", "date", """
        applications under {o} close {in} {v}
        the last chance to apply under {o} is {v}
        {s} takes no claims after {v}
        {v} is the last day for {o}
        ~nothing can be sent in under {o} after {v}
        ~claims under {o} must arrive by {v}""", """
        When do applications under {o} close?
        Until when can I apply under {o}?
        When is the last chance to apply under {o}?
        After which date does {s} take no claims?
        ~By when must claims under {o} arrive?
        ~When is it too late to apply under {o}?""", wh="What", changes=True),
    attribute("group", "scope; target group", "group", """
        {s} applies to {v}
        {s} was written for {v}
        {s} covers {v}
        only {v} may use {o}
        ~{s} is meant for {v}
        ~{v} fall under {o}""", """
        To whom does {s} apply?
        Who may use {o}?
        Who is covered by {o}?
        For whom was {s} written?
        ~Who falls under {o}?
        ~For whom is {s} meant?"""),
    attribute("owner", "owner; responsible team", "team", """
        {s} is owned by {v}
        {v} owns {o}
        {v} keeps {o} up to date
        {s} is looked after by {v}
        {s} belongs to {v}
        ~{s} falls to {v}
        ~{v} is in charge of {o}""", """
        Which team owns {o}?
        Who owns {o}?
        By which team is {s} owned?
        Who keeps {o} up to date?
        ~To which team does {s} fall?
        ~Who is in charge of {o}?""", wh="Who", changes=True, link="""
        the team that owns {o}
        the team that looks after {o}
        the owner of {o}
        ~the team in charge of {o}"""),
    attribute("review", "review date; date of the next review", "date", """
        {s} will be reviewed {in} {v}
        the next review of {o} is due {in} {v}
        {in} {v}, {s} will be checked again
        {s} is valid until its review {in} {v}
        ~{s} comes up for review {in} {v}
        ~the board will look at {o} again {in} {v}""", """
        When will {s} be reviewed?
        When is the next review of {o}?
        When will {s} be checked again?
        Until when is {s} valid?
        ~When does {s} come up for review?
        ~When will the board look at {o} again?""", wh="What"),
    attribute("days", "allowance; yearly allowance", "days", """
        {s} grants {v} a year
        staff get {v} a year under {o}
        under {o}, everyone has {v} a year
        {s} gives {v} per year
        ~{s} entitles staff to {v} a year
        ~up to {v} a year can be taken under {o}""", """
        How many days does {s} grant a year?
        How long can I be away under {o} each year?
        How much time does {s} give per year?
        How much time do staff get under {o} a year?
        ~How much time a year can be taken under {o}?
        ~To how much time a year does {s} entitle staff?""", changes=True),
    attribute("rate", "rate; refund rate", "percent", """
        {s} refunds {v} of the cost
        under {o}, {v} of the cost is paid back
        {s} pays {v} of the bill
        staff get back {v} under {o}
        ~{v} of every bill is met by {o}
        ~{s} takes over {v} of the bill""", """
        What share of the cost does {s} refund?
        How much of the bill does {s} pay?
        What percentage is paid back under {o}?
        Which part of the cost do staff get back under {o}?
        ~What share of the bill does {s} take over?
        ~How much of every bill is met by {o}?""", changes=True, more="""
        Which refunds a larger share, {a} or {b}?""", less="""
        Which refunds a smaller share, {a} or {b}?"""),
    attribute("form", "form; form number", "code", """
        {s} uses form {v}
        fill in form {v} for {o}
        requests under {o} are made on form {v}
        form {v} goes with {o}
        ~without form {v}, nobody can use {o}
        ~{s} calls for form {v}""", """
        Which form does {s} use?
        What form do I fill in for {o}?
        On which form are requests under {o} made?
        Which form goes with {o}?
        ~What form does {s} call for?
        ~Without which form can nobody use {o}?"""),
    attribute("start", "start date; effective date", "date", """
        {s} took effect {in} {v}
        {s} came into force {in} {v}
        {in} {v}, {s} was introduced
        {s} has been valid since {v}
        ~{s} has been binding since {v}
        ~the first day of {o} was {v}""", """
        When did {s} take effect?
        When did {s} come into force?
        When was {s} introduced?
        Since when has {s} been valid?
        ~Since when has {s} been binding?
        ~When was the first day of {o}?""", wh="What", more="""
        Which took effect later, {a} or {b}?""", less="""
        Which took effect earlier, {a} or {b}?"""),
)  # fmt: skip
