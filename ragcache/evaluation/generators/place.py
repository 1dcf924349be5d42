"""Attributes of places: where they are, how large, who runs them."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("address", "address; street address; postal address", "street", """
        {s} is at {v}
        {s} stands at {v}
        you will find {o} at {v}
        visitors reach {o} at {v}
        {s} is located at {v}
        a letter to {o} must be sent to {v}
        the letters that arrive at {o} have {v} on them
        post is delivered to {o} at {v}
        to visit {o}, go to {v}
        the address of {o} is {v}
        {s} has its home at {v}
        the entrance of {o} is at {v}
        ~letters for {o} are delivered to {v}
        ~{v} is home to {o}""", """
        Where exactly is {o}?
        At which address is {o}?
        Where do I find {o}?
        At what address does {s} stand?
        What is the address of {o}?
        Where must a letter to {o} be sent?
        Where is the post for {o} delivered?
        Where do I have to go to visit {o}?
        On which street is {o}?
        At what address can {o} be visited?
        ~Where are letters for {o} delivered?
        ~To which address must I go to visit {o}?""", changes=True),
    attribute("city", "city; town", "city", """
        {s} is in {v}
        {s} is located in the city of {v}
        {s} was opened in {v}
        in {v}, people know {o} well
        people who want to see {o} travel to {v}
        {s} has its place in {v}
        the town that {s} belongs to is {v}
        {s} can be found in {v}
        {s} stands in the town of {v}
        the people of {v} can see {o} in their town
        travel to {v} if you want to visit {o}
        ~{s} belongs to the town of {v}
        ~you have to travel to {v} to see {o}""", """
        In which city is {o}?
        Which city is {o} in?
        In what town is {s} located?
        Name the city of {o}.
        Which town is {o} in?
        In which town does {s} stand?
        Where do people travel to see {o}?
        To which town does {s} belong?
        Which city do I travel to if I want to visit {o}?
        In which city can {s} be found?
        ~To which city do I have to travel to see {o}?
        ~Which town does {s} belong to?"""),
    attribute("capacity", "capacity; number of seats", "capacity", """
        {s} holds {v}
        {s} has room for {v}
        there is space for {v} in {o}
        {s} was planned for {v}
        {s} can take up to {v}
        {s} fits {v}
        the most that {s} can hold is {v}
        {s} has space for {v} at most
        {s} offers space for {v}
        {s} was built to hold {v}
        ~up to {v} fit into {o}
        ~{s} takes {v} at most""", """
        How many people does {s} hold?
        How big is {o}?
        For how many is there space in {o}?
        How many fit into {o}?
        How many people fit in {o}?
        How many people can {s} take?
        What is the most that {s} can hold?
        For how many does {s} have room?
        How many people may be inside {o} at most?
        What is the capacity of {o}?
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
        {s} is looked after by {v}
        {v} has {o} in good hands
        the one who manages {o} is {v}
        {s} is headed by {v}
        {v} takes care of {o}
        the manager of {o} is {v}
        the person who looks after {o} is {v}
        ~{v} looks after {o}
        ~{s} is in the hands of {v}""", """
        Who runs {o}?
        Who manages {o}?
        By whom is {s} run?
        Who is responsible for {o}?
        By whom is {s} looked after?
        Who has {o} in hand?
        Who is the manager of {o}?
        Who takes care of {o}?
        By whom is {s} managed?
        Who is the head of {o}?
        ~Who looks after {o}?
        ~In whose hands is {o}?""", wh="Who", changes=True, link="""
        the manager of {o}
        the person who runs {o}
        the person responsible for {o}
        {p} manager
        the person who looks after {o}
        the one who manages {o}
        the head of {o}
        the person who takes care of {o}
        ~the one who looks after {o}"""),
    attribute("built", "year of construction; building year", "year", """
        {s} was built in {v}
        {s} dates from {v}
        {s} was finished in {v}
        in {v}, workers completed {o}
        {s} has been standing there since it was built in {v}
        the walls of {o} were put up in {v}
        the year in which {s} was built is {v}
        the history of {o} goes back to {v}
        {s} stood ready in {v}
        building work on {o} ended in {v}
        ~{s} goes back to {v}
        ~{s} has stood there since {v}""", """
        When was {s} built?
        In which year was {s} built?
        When was {s} finished?
        From what year does {s} date?
        In what year were the walls of {o} put up?
        To what year does the history of {o} go back?
        Since which year has {s} been standing there?
        When did {s} stand ready?
        In what year was {s} finished?
        How far back does {s} date: to which year?
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
        travellers who go to {o} get off at {v}
        the train to {o} stops at {v}
        around the corner from {v}, you will find {o}
        from {v}, {s} is just a few steps away
        the nearest station for {o} is {v}
        {v} is near {o}
        leave the train at {v} and walk to {o}
        ~travellers to {o} leave the train at {v}
        ~{v} is just around the corner from {o}""", """
        Which station is closest to {o}?
        Where do I get off for {o}?
        Which stop is near {o}?
        From which station can {s} be reached on foot?
        Which station is the nearest to {o}?
        At which stop do travellers get off for {o}?
        Where does the train to {o} stop?
        Which station is just a few steps away from {o}?
        What is the nearest station to {o}?
        Around the corner from which station is {o}?
        ~Where do travellers to {o} leave the train?
        ~Which station is around the corner from {o}?"""),
)  # fmt: skip
