"""Attributes of teams, companies and projects."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("leader", "leader; head; lead", "person", """
        {s} is led by {v}
        {v} leads {o}
        {v} heads {o}
        {s} is headed by {v}
        {v} is at the head of {o}
        ~{v} is the boss of {o}
        ~{s} answers to {v}""", """
        Who leads {o}?
        Who heads {o}?
        By whom is {s} led?
        Who is at the head of {o}?
        ~Who is the boss of {o}?
        ~To whom does {s} answer?""", wh="Who", changes=True, link="""
        the leader of {o}
        the head of {o}
        the person who leads {o}
        {p} leader
        ~the boss of {o}
        ~the one at the head of {o}"""),
    attribute("size", "number of members; headcount; number of staff", "count", """
        {s} has {v} members
        {s} consists of {v} people
        {v} people work for {o}
        there are {v} people in {o}
        ~{s} is {v} people strong
        ~{s} employs {v} people""", """
        How many members does {s} have?
        How many people work for {o}?
        How big is {o}?
        Of how many people does {s} consist?
        ~How many people does {s} employ?
        ~How many people strong is {o}?""", changes=True, more="""
        Which has more members, {a} or {b}?
        Which is larger, {a} or {b}?""", less="""
        Which has fewer members, {a} or {b}?
        Which is smaller, {a} or {b}?"""),
    attribute("city", "base; home city; seat", "city", """
        {s} is based in {v}
        {s} works from {v}
        {s} has its desks in {v}
        {v} is home to {o}
        ~{s} operates out of {v}
        ~{s} is at home in {v}""", """
        Where is {s} based?
        In which city is {s} based?
        From where does {s} work?
        Which city is home to {o}?
        ~Out of which city does {s} operate?
        ~Where does {s} have its seat?""", changes=True),
    attribute("founded", "founding year; year of foundation", "year", """
        {s} was founded in {v}
        {s} was set up in {v}
        in {v}, {s} was created
        {s} has existed since {v}
        ~{s} came into being in {v}
        ~{s} looks back to {v} as its first year""", """
        When was {s} founded?
        In which year was {s} set up?
        When was {s} created?
        Since when has {s} existed?
        ~When did {s} come into being?
        ~What was the first year of {o}?""", more="""
        Which was founded later, {a} or {b}?
        Which is younger, {a} or {b}?""", less="""
        Which was founded earlier, {a} or {b}?
        Which is older, {a} or {b}?"""),
    attribute("budget", "budget; yearly budget; annual budget", "budget", """
        {s} has a budget of {v}
        {s} can spend {v} a year
        {s} receives {v} a year
        {v} is set aside for {o}
        ~{s} is funded with {v}
        ~the purse of {o} holds {v}""", """
        How much can {s} spend a year?
        How large is the budget of {o}?
        How much money does {s} receive?
        How much is set aside for {o}?
        ~With how much is {s} funded?
        ~How much money is there for {o}?""", changes=True, more="""
        Which has the larger budget, {a} or {b}?""", less="""
        Which has the smaller budget, {a} or {b}?"""),
    attribute("meeting", "meeting day; day of the weekly meeting", "weekday", """
        {s} meets on {v}
        {s} holds its meeting on {v}
        every {v}, {s} meets
        meetings of {o} take place on {v}
        ~{s} gets together on {v}
        ~{v} is when {s} sits down together""", """
        On which day does {s} meet?
        When does {s} meet?
        On what day does {s} hold its meeting?
        When do meetings of {o} take place?
        ~On which day does {s} get together?
        ~On what weekday does {s} sit down together?""", changes=True),
    attribute("time", "meeting time; start of the meeting", "time", """
        the weekly meeting of {o} starts at {v}
        {s} starts its meeting at {v}
        members of {o} come together at {v}
        ~{s} sits down to talk at {v}
        ~at {v}, the talks of {o} begin""", """
        At what time does the meeting of {o} start?
        When does {s} start its meeting?
        At what time do members of {o} come together?
        ~At what time does {s} sit down to talk?
        ~At what time do the talks of {o} begin?""", changes=True),
    attribute("product", "main product; product", "product", """
        {s} builds {v}
        {s} makes {v}
        {v} is built by {s}
        {s} develops {v}
        {s} is responsible for {v}
        ~{s} turns out {v}
        ~{v} comes from {s}""", """
        What does {s} build?
        Which product does {s} make?
        What is {s} responsible for?
        Which product is developed by {o}?
        ~What does {s} turn out?
        ~Which product comes from {o}?""", wh="What", changes=True, link="""
        the product that {s} builds
        the product made by {o}
        the main product of {o}
        {p} main product
        ~the product that comes from {o}"""),
    attribute("office", "office; headquarters", "place", """
        {s} sits at {v}
        {s} occupies {v}
        {v} houses {o}
        {s} works at {v}
        ~{v} is used by {s}
        ~{s} is quartered at {v}""", """
        At which site does {s} work?
        Where does {s} sit?
        Which site houses {o}?
        Which place does {s} occupy?
        ~Which site is used by {o}?
        ~Where is {s} quartered?""", wh="Which", changes=True, link="""
        the site where {s} works
        the place that houses {o}
        ~the site used by {o}"""),
    attribute("email", "e-mail address; mailbox; contact address", "email", """
        {s} can be contacted at {v}
        write to {o} at {v}
        messages to {o} go to {v}
        {s} uses the mailbox {v}
        ~{s} receives mail at {v}
        ~questions for {o} should be sent to {v}""", """
        Where can I write to {o}?
        At which address can {s} be contacted?
        Which mailbox does {s} use?
        Where do messages to {o} go?
        ~Where should questions for {o} be sent?
        ~At which address does {s} receive mail?"""),
    attribute("members", "members; team members", "people", """
        the members of {o} are {v}
        {v} belong to {o}
        {s} brings together {v}
        {v} work for {o}
        ~{s} is made up of {v}
        ~{v} form {o}""", """
        Who belongs to {o}?
        Who works for {o}?
        Name the members of {o}.
        Which people are in {o}?
        ~Of whom is {s} made up?
        ~Which people form {o}?""", wh="Who", plural=True),
    attribute("cities", "branches; branch cities", "cities", """
        {s} has branches in {v}
        {s} is active in {v}
        {s} serves customers in {v}
        people in {v} work with {o}
        ~{s} is present in {v}
        ~{s} runs outposts in {v}""", """
        In which cities does {s} have branches?
        In which cities is {s} active?
        List the branches of {o}.
        ~In which cities is {s} present?
        ~In which cities does {s} run outposts?""", wh="Which", plural=True),
    attribute("code", "project code; accounting code", "code", """
        {s} uses the code {v}
        {s} books its hours on {v}
        costs of {o} are booked on {v}
        {s} is filed under {v}
        ~the books list {o} under {v}
        ~hours spent on {o} go to {v}""", """
        Which code does {s} use?
        Under what code is {s} filed?
        On which code does {s} book its hours?
        On what code are costs of {o} booked?
        ~Under what code do the books list {o}?
        ~Where do hours spent on {o} go?"""),
)  # fmt: skip
