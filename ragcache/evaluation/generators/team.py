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
        the one whom everyone in {o} calls boss is {v}
        {v} answers for {o}
        the boss to whom {s} reports is {v}
        {v} is in charge of {o}
        {v} is the person who leads {o}
        the leader of {o} is {v}
        {s} has {v} at its head
        ~{v} is the boss of {o}
        ~{s} answers to {v}""", """
        Who leads {o}?
        Who heads {o}?
        By whom is {s} led?
        Who is at the head of {o}?
        Who answers for {o}?
        Whom does everyone in {o} call boss?
        Who is the leader of {o}?
        By whom is {s} headed?
        Who is in charge of {o}?
        Who is the head of {o}?
        ~Who is the boss of {o}?
        ~To whom does {s} answer?""", wh="Who", changes=True, link="""
        the leader of {o}
        the head of {o}
        the person who leads {o}
        {p} leader
        the one who leads {o}
        the person at the head of {o}
        the person who heads {o}
        the boss to whom {s} reports
        ~the boss of {o}
        ~the one at the head of {o}"""),
    attribute("size", "number of members; headcount; number of staff", "count", """
        {s} has {v} members
        {s} consists of {v} people
        {v} people work for {o}
        there are {v} people in {o}
        the number of people that {s} employs is {v}
        with {v} members, {s} is as strong as planned
        {s} is a team of {v}
        {v} people are employed in {o}
        {s} counts {v} people
        {s} is made up of {v} people
        ~{s} is {v} people strong
        ~{s} employs {v} people""", """
        How many members does {s} have?
        How many people work for {o}?
        How big is {o}?
        Of how many people does {s} consist?
        How many people are employed in {o}?
        How many members strong is {o}?
        How many people are there in {o}?
        How many people does {s} count?
        How large is {o}?
        What is the headcount of {o}?
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
        {v} is the city from which {s} operates
        {s} has its seat in {v}
        {s} operates its main office in {v}
        {s} is located in {v}
        out of its seat in {v}, {s} serves all customers
        the home of {o} is in {v}
        the desks of {o} stand in {v}
        ~{s} operates out of {v}
        ~{s} is at home in {v}""", """
        Where is {s} based?
        In which city is {s} based?
        From where does {s} work?
        Which city is home to {o}?
        From which city does {s} operate?
        Which city is the seat of {o}?
        In which city is {s} located?
        In which town does {s} have its desks?
        In which city is the home of {o}?
        Which city does {s} work from?
        ~Out of which city does {s} operate?
        ~Where does {s} have its seat?""", changes=True),
    attribute("founded", "founding year; year of foundation", "year", """
        {s} was founded in {v}
        {s} was set up in {v}
        in {v}, {s} was created
        {s} has existed since {v}
        the first year in which {s} came together was {v}
        the history of {o} goes back to {v}
        looking back, {s} came into existence in {v}
        {s} was called into being in {v}
        {v} is the year in which {s} was founded
        {s} started in {v}
        the first year of {o} was {v}
        ~{s} came into being in {v}
        ~{s} looks back to {v} as its first year""", """
        When was {s} founded?
        In which year was {s} set up?
        When was {s} created?
        Since when has {s} existed?
        In which year did {s} come into existence?
        When did {s} start?
        In which year was {s} founded?
        How far back does {s} go: to what year?
        When was {s} called into being?
        In what year was {s} created?
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
        the funds that {s} holds come to {v}
        there is a purse of {v} for {o}
        {v} is what {s} is given to spend
        the money for {o} comes to {v}
        {s} works with {v} a year
        the company funds {o}: the sum is {v}
        {s} has {v} to spend
        ~{s} is funded with {v}
        ~the purse of {o} holds {v}""", """
        How much can {s} spend a year?
        How large is the budget of {o}?
        How much money does {s} receive?
        How much is set aside for {o}?
        What is the budget of {o}?
        How much does the company fund {o} with?
        How much is in the purse of {o}?
        How much money may {s} spend?
        With how much does {s} work a year?
        How large are the funds that {s} holds?
        How much money is given to {o}?
        ~With how much is {s} funded?
        ~How much money is there for {o}?""", changes=True, more="""
        Which has the larger budget, {a} or {b}?""", less="""
        Which has the smaller budget, {a} or {b}?"""),
    attribute("product", "main product; product", "product", """
        {s} builds {v}
        {s} makes {v}
        {v} is built by {s}
        {s} develops {v}
        {s} is responsible for {v}
        the work of {o} has turned into {v}
        {s} is where {v} comes from
        {s} has brought out {v}
        {v} is what {s} turns its hands to
        {v} is made by {s}
        {s} works on {v}
        the main product of {o} is {v}
        ~{s} turns out {v}
        ~{v} comes from {s}""", """
        What does {s} build?
        Which product does {s} make?
        What is {s} responsible for?
        Which product is developed by {o}?
        What does {s} make?
        What product comes out of the work of {o}?
        What does {s} turn its hands to?
        Which product is built by {o}?
        What is the main product of {o}?
        What does {s} work on?
        ~What does {s} turn out?
        ~Which product comes from {o}?""", wh="What", changes=True, link="""
        the product that {s} builds
        the product made by {o}
        the main product of {o}
        {p} main product
        the product that {s} makes
        the product that comes out of the work of {o}
        the product that {s} works on
        ~the product that comes from {o}"""),
    attribute("office", "office; headquarters", "place", """
        {s} sits at {v}
        {s} occupies {v}
        {v} houses {o}
        {s} works at {v}
        the quarters of {o} are at {v}
        {s} uses {v} as its office
        {s} has been quartered in {v}
        the site that {s} uses is {v}
        the desks of {o} are at {v}
        {s} has its office at {v}
        {s} can be found at {v}
        ~{v} is used by {s}
        ~{s} is quartered at {v}""", """
        At which site does {s} work?
        Where does {s} sit?
        Which site houses {o}?
        Which place does {s} occupy?
        Which site does {s} use as its office?
        Where are the quarters of {o}?
        Where does {s} have its office?
        At which place are the desks of {o}?
        At which site can {s} be found?
        ~Which site is used by {o}?
        ~Where is {s} quartered?""", wh="Which", changes=True, link="""
        the site where {s} works
        the place that houses {o}
        the place that {s} uses as its office
        the site that {s} occupies
        the place where {s} sits
        ~the site used by {o}"""),
)  # fmt: skip
