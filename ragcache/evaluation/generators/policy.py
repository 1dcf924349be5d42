"""Attributes of policies: who they concern, who keeps them, when."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("approver", "approver; contact person", "person", """
        requests under {o} are approved by {v}
        {v} approves requests under {o}
        {v} signs off on {o}
        {s} needs the signature of {v}
        a request under {o} needs a word from {v}
        without a yes from {v}, nothing is paid under {o}
        {s} only works with the consent of {v}
        {v} has to give consent before anything happens under {o}
        the last signature under {o} is that of {v}
        the one who approves requests under {o} is {v}
        {v} decides on requests under {o}
        ~{v} has the last word on {o}
        ~nothing happens under {o} without {v}""", """
        Who approves requests under {o}?
        Who signs off on {o}?
        By whom are requests under {o} approved?
        Whose signature does {s} need?
        Who has to give consent under {o}?
        Who decides on requests under {o}?
        Who is the approver of {o}?
        Without whose yes does nothing happen under {o}?
        Whose is the last signature under {o}?
        Who gives the last word on a request under {o}?
        ~Who has the last word on {o}?
        ~Whose consent do I need under {o}?""", wh="Who", changes=True, link="""
        the approver of {o}
        the person who approves requests under {o}
        the person who signs off on {o}
        the person who decides on requests under {o}
        the one who approves requests under {o}
        the person whose signature {s} needs
        the one who signs off on {o}
        ~the one who has the last word on {o}"""),
    attribute("author", "author; writer", "person", """
        {s} was written by {v}
        {v} wrote {o}
        {v} drew up {o}
        the text of {o} comes from {v}
        the first draft of {o} came from {v}
        {v} drafted the text of {o}
        the words on paper in {o} were put there by {v}
        {s} was drawn up by {v}
        the author of {o} is {v}
        {s} is a text by {v}
        the one who wrote {o} is {v}
        ~{v} put {o} on paper
        ~{s} was drafted by {v}""", """
        Who wrote {o}?
        By whom was {s} written?
        Who drew up {o}?
        From whom does the text of {o} come?
        Who is the author of {o}?
        From whom did the draft of {o} come?
        By whom was {s} drafted?
        By whom was {s} drawn up?
        Who put the words of {o} on paper?
        Who is the writer of {o}?
        ~Who drafted {o}?
        ~Who put {o} on paper?""", wh="Who", link="""
        the author of {o}
        the person who wrote {o}
        the one who wrote {o}
        the person who drafted {o}
        the person who drew up {o}
        the writer of {o}
        ~the one who drafted {o}"""),
    attribute("group", "scope; target group", "group", """
        {s} applies to {v}
        {s} was written for {v}
        {s} covers {v}
        only {v} may use {o}
        {v} are meant by {o}
        the people who fall under {o} are {v}
        {s} is meant only for {v}, who may use it
        {s} is open to {v}
        {s} is there for {v}
        the rules of {o} are meant to be used by {v}
        {v} can make use of {o}
        ~{s} is meant for {v}
        ~{v} fall under {o}""", """
        To whom does {s} apply?
        Who may use {o}?
        Who is covered by {o}?
        For whom was {s} written?
        Who is meant by {o}?
        Which people fall under {o}?
        To whom is {s} open?
        Whom does {s} cover?
        Which group does {s} apply to?
        Who can make use of {o}?
        ~Who falls under {o}?
        ~For whom is {s} meant?"""),
    attribute("owner", "owner; responsible team", "team", """
        {s} is owned by {v}
        {v} owns {o}
        {v} keeps {o} up to date
        {s} is looked after by {v}
        {s} belongs to {v}
        it falls to {v} to keep {o} up to date
        {v} has taken charge of {o}
        {v} is responsible for {o}
        {v} looks after {o}
        the owner of {o} is {v}
        {s} is kept up to date by {v}
        the team that answers for {o} is {v}
        ~{s} falls to {v}
        ~{v} is in charge of {o}""", """
        Which team owns {o}?
        Who owns {o}?
        By which team is {s} owned?
        Who keeps {o} up to date?
        Who has taken charge of {o}?
        Which team is responsible for {o}?
        To whom does it fall to keep {o} up to date?
        Who looks after {o}?
        To which team does {s} belong?
        Who is the owner of {o}?
        Which team is in charge of {o}?
        ~To which team does {s} fall?
        ~Who is in charge of {o}?""", wh="Who", changes=True, link="""
        the team that owns {o}
        the team that looks after {o}
        the owner of {o}
        the team responsible for {o}
        the team that takes charge of {o}
        the team that keeps {o} up to date
        the owner that looks after {o}
        ~the team in charge of {o}"""),
    attribute("review", "review date; date of the next review", "date", """
        {s} will be reviewed {in} {v}
        the next review of {o} is due {in} {v}
        {in} {v}, {s} will be checked again
        {s} is valid until its review {in} {v}
        the board reviews {o} {in} {v}
        {in} {v}, the board takes a look at {o}
        {s} comes before the board {in} {v}
        the review of {o} comes up {in} {v}
        it is planned to look at {o} {in} {v} again
        {s} is due for a check {in} {v}
        {s} must be reviewed {in} {v}
        ~{s} comes up for review {in} {v}
        ~the board will look at {o} again {in} {v}""", """
        When will {s} be reviewed?
        When is the next review of {o}?
        When will {s} be checked again?
        Until when is {s} valid?
        When does the board review {o}?
        When is {s} due for a check?
        On what date will {s} be reviewed?
        When does the review of {o} come up?
        When will the board take a look at {o}?
        What is the review date of {o}?
        ~When does {s} come up for review?
        ~When will the board look at {o} again?""", wh="What"),
    attribute("start", "start date; effective date", "date", """
        {s} took effect {in} {v}
        {s} came into force {in} {v}
        {in} {v}, {s} was introduced
        {s} has been valid since {v}
        {s} began to bind all staff {in} {v}
        the rules of {o} are binding: they began {in} {v}
        {s} has applied since {v}
        the start date of {o} was {in} {v}
        {s} began {in} {v}
        from {v} on, {s} was in force
        {s} was put into force {in} {v}
        the day on which {s} took effect fell {in} {v}
        ~{s} has been binding since {v}
        ~the first day of {o} was {v}""", """
        When did {s} take effect?
        When did {s} come into force?
        When was {s} introduced?
        Since when has {s} been valid?
        On what date did {s} begin?
        Since when has {s} applied?
        Since when does {s} bind all staff?
        When was {s} put into force?
        What is the start date of {o}?
        Which day was the first under {o}?
        ~Since when has {s} been binding?
        ~When was the first day of {o}?""", wh="What", more="""
        Which took effect later, {a} or {b}?""", less="""
        Which took effect earlier, {a} or {b}?"""),
)  # fmt: skip
