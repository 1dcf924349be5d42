"""Attributes of places."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("address", "address; street address; postal address", "street", """
        {s} is at {v}
        {s} stands at {v}
        you will find {o} at {v}
        visitors reach {o} at {v}
        {s} is located at {v}
        ~letters for {o} are delivered to {v}
        ~{v} is home to {o}""", """
        Where exactly is {o}?
        At which address is {o}?
        Where do I find {o}?
        At what address does {s} stand?
        ~Where are letters for {o} delivered?
        ~To which address must I go to visit {o}?""", changes=True),
    attribute("city", "city; town", "city", """
        {s} is in {v}
        {s} is located in the city of {v}
        {s} was opened in {v}
        in {v}, people know {o} well
        ~{s} belongs to the town of {v}
        ~you have to travel to {v} to see {o}""", """
        In which city is {o}?
        Which city is {o} in?
        In what town is {s} located?
        Name the city of {o}.
        ~To which city do I have to travel to see {o}?
        ~Which town does {s} belong to?"""),
    attribute("opens", "opening time; opening hour", "time", """
        {s} opens at {v}
        the doors of {o} open at {v}
        {s} is open from {v}
        from {v}, {s} is open
        ~{s} lets people in at {v}
        ~nobody can enter {o} before {v}""", """
        When does {s} open?
        At what time does {s} open?
        From when is {s} open?
        From what time can I enter {o}?
        ~What is the earliest time that I can enter {o}?
        ~At what time does {s} let people in?""", changes=True, more="""
        Which opens later, {a} or {b}?""", less="""
        Which opens earlier, {a} or {b}?
        Which opens first, {a} or {b}?"""),
    attribute("closes", "closing time; closing hour", "time", """
        {s} closes at {v}
        the doors of {o} close at {v}
        {s} shuts at {v}
        at {v}, {s} is locked
        ~everyone has to leave {o} by {v}
        ~the lights of {o} go out at {v}""", """
        When does {s} close?
        At what time does {s} close?
        Until when is {s} open?
        When does {s} shut?
        ~By when does everyone have to leave {o}?
        ~When do the lights of {o} go out?""", changes=True, more="""
        Which closes later, {a} or {b}?""", less="""
        Which closes earlier, {a} or {b}?"""),
    attribute("capacity", "capacity; number of seats", "capacity", """
        {s} holds {v}
        {s} has room for {v}
        there is space for {v} in {o}
        {s} was planned for {v}
        ~up to {v} fit into {o}
        ~{s} takes {v} at most""", """
        How many people does {s} hold?
        How big is {o}?
        For how many is there space in {o}?
        How many fit into {o}?
        ~How many does {s} take at most?
        ~For how many was {s} planned?""", more="""
        Which has the larger capacity, {a} or {b}?
        Which holds more, {a} or {b}?""", less="""
        Which has the smaller capacity, {a} or {b}?
        Which holds less, {a} or {b}?"""),
    attribute("manager", "manager; site manager; head", "person", """
        {s} is run by {v}
        {v} runs {o}
        {v} manages {o}
        {s} is managed by {v}
        {v} is responsible for {o}
        ~{v} looks after {o}
        ~{s} is in the hands of {v}""", """
        Who runs {o}?
        Who manages {o}?
        By whom is {s} run?
        Who is responsible for {o}?
        ~Who looks after {o}?
        ~In whose hands is {o}?""", wh="Who", changes=True, link="""
        the manager of {o}
        the person who runs {o}
        the person responsible for {o}
        {p} manager
        ~the one who looks after {o}"""),
    attribute("built", "year of construction; building year", "year", """
        {s} was built in {v}
        {s} dates from {v}
        {s} was finished in {v}
        in {v}, workers completed {o}
        ~{s} goes back to {v}
        ~{s} has stood there since {v}""", """
        When was {s} built?
        In which year was {s} built?
        When was {s} finished?
        From what year does {s} date?
        ~To which year does {s} go back?
        ~Since when has {s} stood there?""", more="""
        Which was built later, {a} or {b}?
        Which is newer, {a} or {b}?""", less="""
        Which was built earlier, {a} or {b}?
        Which is older, {a} or {b}?"""),
    attribute("station", "nearest station; nearest stop", "station", """
        the station closest to {o} is {v}
        {s} is a short walk from {v}
        get off at {v} for {o}
        {s} can be reached from {v} on foot
        ~travellers to {o} leave the train at {v}
        ~{v} is just around the corner from {o}""", """
        Which station is closest to {o}?
        Where do I get off for {o}?
        Which stop is near {o}?
        From which station can {s} be reached on foot?
        ~Where do travellers to {o} leave the train?
        ~Which station is around the corner from {o}?"""),
    attribute("phone", "phone number; telephone number; front desk number", "phone", """
        call {v} to reach {o}
        {s} can be phoned at {v}
        the front desk of {o} answers at {v}
        {s} has the number {v}
        ~ring {v} to get through to {o}
        ~{s} takes calls at {v}""", """
        How can I phone {o}?
        What number does {s} have?
        At which number can {s} be phoned?
        What number do I call to reach {o}?
        ~How do I get through to {o} by phone?
        ~At what number does {s} take calls?"""),
    attribute("door", "door code; entry code; access code", "code", """
        the door of {o} opens with {v}
        enter {v} to get into {o}
        {s} is locked with the code {v}
        type {v} at the door of {o}
        ~only {v} unlocks {o}
        ~to enter {o}, key in {v}""", """
        Which code opens {o}?
        What code do I need for the door of {o}?
        With which code is {s} locked?
        What do I type at the door of {o}?
        ~What unlocks {o}?
        ~What must I key in to enter {o}?""", changes=True),
    attribute("days", "opening days; days of opening", "weekdays", """
        {s} is open on {v}
        {s} receives visitors on {v}
        you can visit {o} on {v}
        {s} works on {v}
        ~the staff of {o} are there on {v}
        ~on {v}, people may enter {o}""", """
        On which days is {s} open?
        Which days can I visit {o}?
        When in the week is {s} open?
        List the opening days of {o}.
        ~On which days are the staff of {o} there?
        ~On what days may people enter {o}?""", wh="Which", plural=True),
    attribute("floor", "main floor", "floor", """
        the reception of {o} is on the {v}
        {s} has its reception on the {v}
        guests of {o} register on the {v}
        ~go to the {v} to register at {o}
        ~the desk for guests of {o} is on the {v}""", """
        On which floor is the reception of {o}?
        Where in {o} is the reception?
        On what floor do guests of {o} register?
        ~To which floor do I go to register at {o}?
        ~On which floor is the desk for guests of {o}?"""),
)  # fmt: skip
