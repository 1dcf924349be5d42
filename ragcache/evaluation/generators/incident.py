"""Attributes of incidents."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("date", "date; date of occurrence", "date", """
        {s} happened {in} {v}
        {s} took place {in} {v}
        {in} {v}, {s} occurred
        {s} began {in} {v}
        ~{s} dates from {v}
        ~it was {in} {v} that {s} occurred""", """
        When did {s} happen?
        When did {s} take place?
        On what date did {s} occur?
        When did {s} begin?
        ~What date does {s} have?
        ~On which date did {s} come about?""", wh="What", more="""
        Which happened later, {a} or {b}?""", less="""
        Which happened earlier, {a} or {b}?
        Which happened first, {a} or {b}?"""),
    attribute("cause", "cause; root cause; reason", "cause", """
        {s} was caused by {v}
        {v} caused {o}
        {v} led to {o}
        {s} goes back to {v}
        {v} was behind {o}
        ~{s} was the result of {v}
        ~{v} triggered {o}""", """
        What caused {o}?
        Why did {s} happen?
        What led to {o}?
        What was behind {o}?
        ~What triggered {o}?
        ~Of what was {s} the result?"""),
    attribute("duration", "duration; length; total time", "duration", """
        {s} lasted {v}
        {s} went on for {v}
        it took {v} to end {o}
        {s} was over after {v}
        ~{s} dragged on for {v}
        ~{v} passed before {s} was over""", """
        How long did {s} last?
        For how long did {s} go on?
        How long did it take to end {o}?
        After how long was {s} over?
        ~How much time passed before {s} was over?
        ~For how long did {s} drag on?""", more="""
        Which lasted longer, {a} or {b}?""", less="""
        Which was shorter, {a} or {b}?
        Which was over sooner, {a} or {b}?"""),
    attribute("location", "location; site; scene", "place", """
        {s} happened at {v}
        {s} took place at {v}
        the scene of {o} was {v}
        {v} was hit by {o}
        ~{s} struck at {v}
        ~{v} suffered from {o}""", """
        Where did {s} happen?
        Where did {s} take place?
        At which site did {s} occur?
        Which place was hit by {o}?
        ~Where did {s} strike?
        ~Which site suffered from {o}?""", wh="Which", link="""
        the place where {s} happened
        the site of {o}
        the location of {o}
        ~the place that was hit by {o}"""),
    attribute("fixer", "fixer; repairer", "person", """
        {s} was fixed by {v}
        {v} fixed {o}
        {v} solved {o}
        {s} was solved by {v}
        {s} ended when {v} found the fault
        ~{v} put an end to {o}
        ~{s} was resolved by {v}""", """
        Who fixed {o}?
        By whom was {s} fixed?
        Who solved {o}?
        Who found the fault in {o}?
        ~Who put an end to {o}?
        ~Who resolved {o}?""", wh="Who", link="""
        the person who fixed {o}
        the person who solved {o}
        ~the one who put an end to {o}"""),
    attribute("reporter", "reporter; witness", "person", """
        {s} was reported by {v}
        {v} reported {o}
        {v} noticed {o} first
        {s} was first seen by {v}
        ~{v} raised the alarm about {o}
        ~{s} came to light through {v}""", """
        Who reported {o}?
        By whom was {s} reported?
        Who noticed {o} first?
        Who first saw {o}?
        ~Who raised the alarm about {o}?
        ~Through whom did {s} come to light?""", wh="Who", link="""
        the person who reported {o}
        the person who noticed {o} first
        ~the one who raised the alarm about {o}"""),
    attribute("cost", "cost; total cost; damage", "amount", """
        {s} cost {v}
        the company lost {v} through {o}
        the bill for {o} came to {v}
        {s} caused damage of {v}
        ~{s} set the company back {v}
        ~{v} had to be paid because of {o}""", """
        How much did {s} cost?
        How much did the company lose through {o}?
        What did {s} cost?
        How high was the bill for {o}?
        ~How much did {s} set the company back?
        ~What had to be paid because of {o}?""", more="""
        Which cost more, {a} or {b}?
        Which was more expensive, {a} or {b}?""", less="""
        Which cost less, {a} or {b}?
        Which was cheaper, {a} or {b}?"""),
    attribute("system", "affected system; system affected", "system", """
        {s} affected {v}
        {s} put {v} out of order
        {v} stopped working because of {o}
        during {o}, {v} was down
        ~{s} brought {v} to a halt
        ~{v} failed in {o}""", """
        Which system was affected by {o}?
        What did {s} affect?
        What stopped working because of {o}?
        What was down during {o}?
        ~What was brought to a halt by {o}?
        ~What failed in {o}?"""),
    attribute("tool", "tool used; tool for the repair", "tool", """
        {v} was used to fix {o}
        {s} was repaired with {v}
        the repair of {o} took {v}
        ~{v} helped to end {o}
        ~{s} was brought under control with {v}""", """
        What was used to fix {o}?
        With what was {s} repaired?
        Which tool was used for {o}?
        ~What helped to end {o}?
        ~With what was {s} brought under control?"""),
    attribute("injured", "number of people affected; number of affected people", "count", """
        {s} affected {v} people
        {v} people were affected by {o}
        because of {o}, {v} people had to wait
        {s} left {v} people without service
        ~{v} people suffered from {o}
        ~{s} was felt by {v} people""", """
        How many people were affected by {o}?
        How many people did {s} affect?
        How many people were left without service by {o}?
        How many people had to wait because of {o}?
        ~How many people suffered from {o}?
        ~By how many people was {s} felt?""", more="""
        Which affected more people, {a} or {b}?""", less="""
        Which affected fewer people, {a} or {b}?"""),
    attribute("helpers", "helpers; people who helped", "people", """
        {v} helped with {o}
        {v} were called to {o}
        {s} kept {v} busy
        ~{v} lent a hand with {o}
        ~the crew for {o} was {v}""", """
        Who helped with {o}?
        Who was called to {o}?
        Name the people who helped with {o}.
        ~Who lent a hand with {o}?
        ~Who was on the crew for {o}?""", wh="Who", plural=True),
)  # fmt: skip
