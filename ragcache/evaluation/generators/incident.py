"""Attributes of incidents: when, where, why and who."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("date", "date; date of occurrence", "date", """
        {s} happened {in} {v}
        {s} took place {in} {v}
        {in} {v}, {s} occurred
        {s} began {in} {v}
        the date of {o} is given as {v}
        {s} came about {in} {v}
        {s} was logged {in} {v}
        {s} started {in} {v}
        the day of {o} was {v}
        {s} has the date {v}
        the trouble with {o} came {in} {v}
        ~{s} dates from {v}
        ~it was {in} {v} that {s} occurred""", """
        When did {s} happen?
        When did {s} take place?
        On what date did {s} occur?
        When did {s} begin?
        When did {s} occur?
        When did {s} start?
        On which date did {s} happen?
        What is the date of {o}?
        How is {o} dated?
        When did {s} come about?
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
        as a result of {v}, {s} happened
        {s} was triggered by {v}
        the cause of {o} was {v}
        the reason for {o} was {v}
        {s} happened because of {v}
        {s} resulted from {v}
        ~{s} was the result of {v}
        ~{v} triggered {o}""", """
        What caused {o}?
        Why did {s} happen?
        What led to {o}?
        What was behind {o}?
        What was the cause of {o}?
        By what was {s} triggered?
        What was the reason for {o}?
        From what did {s} result?
        What brought about {o}?
        By what was {s} caused?
        ~What triggered {o}?
        ~Of what was {s} the result?"""),
    attribute("duration", "duration; length; total time", "duration", """
        {s} lasted {v}
        {s} went on for {v}
        it took {v} to end {o}
        {s} was over after {v}
        {s} had passed after {v}
        the trouble with {o} dragged on, in all for {v}
        {s} took {v}
        for {v}, {s} kept people busy
        {s} had a length of {v}
        from start to end, {s} took {v}
        much time passed in {o}: {v}
        ~{s} dragged on for {v}
        ~{v} passed before {s} was over""", """
        How long did {s} last?
        For how long did {s} go on?
        How long did it take to end {o}?
        After how long was {s} over?
        How much time did {s} take?
        How long was {o}?
        After how much time was {s} over?
        How long did {s} take from start to end?
        What was the length of {o}?
        How long did the trouble with {o} drag on?
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
        {s} struck people who work at {v}
        the place that suffered under {o} was {v}
        {s} hit {v}
        people at {v} suffered during {o}
        the site of {o} was {v}
        {s} occurred at {v}
        the trouble with {o} began at {v}
        ~{s} struck at {v}
        ~{v} suffered from {o}""", """
        Where did {s} happen?
        Where did {s} take place?
        At which site did {s} occur?
        Which place was hit by {o}?
        Which site did {s} strike?
        Which site was struck by {o}?
        At which place did people suffer from {o}?
        Where did {s} occur?
        What was the scene of {o}?
        Which place did {s} hit?
        In which place did {s} happen?
        ~Where did {s} strike?
        ~Which site suffered from {o}?""", wh="Which", link="""
        the place where {s} happened
        the site of {o}
        the location of {o}
        the site where {s} took place
        the place that {s} hit
        the scene of {o}
        ~the place that was hit by {o}"""),
    attribute("fixer", "fixer; repairer", "person", """
        {s} was fixed by {v}
        {v} fixed {o}
        {v} solved {o}
        {s} was solved by {v}
        {s} ended when {v} found the fault
        the end of {o} came thanks to {v}, who fixed it
        the one who solved {o} is {v}
        {v} resolved the trouble with {o}
        {v} put everything right after {o}
        {v} repaired the fault behind {o}
        {s} was ended by {v}
        the repair in {o} was done by {v}
        ~{v} put an end to {o}
        ~{s} was resolved by {v}""", """
        Who fixed {o}?
        By whom was {s} fixed?
        Who solved {o}?
        Who found the fault in {o}?
        By whom was {s} resolved?
        Who repaired the fault behind {o}?
        By whom was {s} solved?
        Who put everything right after {o}?
        Who ended {o}?
        By whom was an end made of {o}?
        ~Who put an end to {o}?
        ~Who resolved {o}?""", wh="Who", link="""
        the person who fixed {o}
        the person who solved {o}
        the one who fixed {o}
        the person who resolved {o}
        the person who put everything right after {o}
        ~the one who put an end to {o}"""),
    attribute("reporter", "reporter; witness", "person", """
        {s} was reported by {v}
        {v} reported {o}
        {v} noticed {o} first
        {s} was first seen by {v}
        the alarm in {o} was raised by {v}
        thanks to {v}, who saw it first, {o} was brought to light
        word of {o} came through {v}
        the one who reported {o} is {v}
        the first report of {o} came from {v}
        {v} saw {o} first
        {s} was noticed by {v}
        ~{v} raised the alarm about {o}
        ~{s} came to light through {v}""", """
        Who reported {o}?
        By whom was {s} reported?
        Who noticed {o} first?
        Who first saw {o}?
        Who was the first to report {o}?
        By whom was the alarm raised in {o}?
        By whom was {s} noticed?
        Who brought {o} to light?
        From whom did the first report of {o} come?
        Through whom did word of {o} come?
        ~Who raised the alarm about {o}?
        ~Through whom did {s} come to light?""", wh="Who", link="""
        the person who reported {o}
        the person who noticed {o} first
        the one who noticed {o} first
        the person who raised the alarm in {o}
        the person who first saw {o}
        ~the one who raised the alarm about {o}"""),
)  # fmt: skip
