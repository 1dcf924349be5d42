"""Attributes of people at work."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("job", "job; profession; job title", "job", """
        {s} works as {a} {v}
        {s} is {a} {v}
        {s} is {a} {v} by profession
        {s} was hired as {a} {v}
        {s}, {a} {v}, joined some time ago
        {p} living is earned as {a} {v}
        the firm employs {o} as {a} {v}
        the company took {o} on as {a} {v}
        as {a} {v}, {s} earns good money
        {s} has a contract as {a} {v}
        {s} has the job of {a} {v}
        {p} line of work is that of {a} {v}
        ~{s} earns a living as {a} {v}
        ~{s} is employed as {a} {v}""", """
        What does {s} do for a living?
        What does {s} work as?
        What kind of work does {s} do?
        As what does {s} work?
        As what is {s} employed by the firm?
        What is the job of {o}?
        How does {s} earn money?
        In which line of work does {s} earn a living?
        In what job does the company employ {o}?
        What was {s} hired as?
        ~What is {s} employed as?
        ~What line of work is {s} in?""", changes=True),
    attribute("manager", "manager; line manager; boss", "person", """
        {s} reports to {v}
        {v} manages {o}
        {s} is managed by {v}
        {s} works under {v}
        {v} is in charge of {o}
        {s} is supervised by {v}
        {v} gives instructions to {o}
        the one who gives {o} instructions is {v}
        {v} supervises the work of {o}
        {s} takes orders from {v}
        {v} is the boss to whom {s} reports
        {v} is the person who leads {o}
        ~{s} takes instructions from {v}
        ~{v} supervises {o}""", """
        Who manages {o}?
        Who does {s} report to?
        To whom does {s} report?
        By whom is {s} managed?
        Who is the boss of {o}?
        By whom is {s} supervised?
        Who gives {o} instructions?
        Which person does {s} report to?
        From whom does {s} take orders?
        Who is in charge of {o}?
        Whose instructions does {s} take?
        ~Who supervises {o}?
        ~Under whom does {s} work?""", wh="Who", changes=True, link="""
        the manager of {o}
        {p} manager
        the person who manages {o}
        the person {s} reports to
        the person who supervises {o}
        the one who manages {o}
        the boss to whom {s} reports
        the person who is in charge of {o}
        ~the boss of {o}
        ~the one who supervises {o}"""),
    attribute("team", "team; department; group", "team", """
        {s} belongs to {v}
        {s} is a member of {v}
        {s} works for {v}
        {v} counts {o} among its members
        {s} is part of {v}
        {s} has joined {v}
        {s} takes a place on the staff list of {v}
        the place where {s} fits in is {v}
        {v} has {o} on its staff
        {s} is a member of staff in {v}
        {v} is the team in which {s} has a place
        {p} work is done for {v}
        ~{s} has a place in {v}
        ~{s} is on the staff of {v}""", """
        Which team does {s} belong to?
        Which team is {s} part of?
        What team is {s} in?
        Who does {s} work for?
        In which team does {s} work?
        Which department does {s} belong to?
        To which team does {s} belong?
        In which team does {s} have a place?
        Into which team does {s} fit?
        On the staff of which team is {s}?
        ~Of which team is {s} a member?
        ~Where does {s} fit in: which team?""", changes=True, link="""
        the team that {s} belongs to
        {p} team
        the team of {o}
        the team that {s} is part of
        the team that {s} works for
        the group to which {s} belongs
        ~the team in which {s} works"""),
    attribute("office", "office; workplace; place of work", "place", """
        {s} works at {v}
        {s} is based at {v}
        {s} can be found at {v}
        {v} is where {s} works
        {p} desk is at {v}
        {p} working days are spent at {v}
        the company stationed {o} at {v}
        {v} is the location of {p} desk
        the location where {s} works is {v}
        you can find {o} at work in {v}
        {s} has a desk at {v}
        {s} goes to work at {v}
        ~{s} is stationed at {v}
        ~{s} spends working days at {v}""", """
        Where does {s} work?
        At which site does {s} work?
        Where is {s} based?
        Where is {p} desk?
        Where does {s} spend the working day?
        Where is {s} stationed?
        Which location does {s} work at?
        At which place does {s} have a desk?
        In which office does {s} work?
        At which site can {s} be found?
        ~At which site is {s} stationed?
        ~In which place can {s} be found at work?""", changes=True, wh="Which", link="""
        the place where {s} works
        the site where {s} is based
        {p} workplace
        the location of {p} desk
        the place where {s} can be found
        the office where {s} works
        ~the location where {s} has a desk"""),
    attribute("room", "room; room number; office room", "room", """
        {s} sits in room {v}
        {s} has moved into room {v}
        room {v} belongs to {o}
        you will find {o} in room {v}
        {s} works in room {v}
        {s} occupies room {v}
        knock at the door of {v} if {s} should be inside
        if you want to see {o}, go to room {v}
        {p} desk stands in room {v}
        the room that {s} occupies is {v}
        {s} can be visited in room {v}
        ~knock at room {v} to see {o}
        ~room {v} is occupied by {o}""", """
        In which room does {s} sit?
        Which room is {s} in?
        What room does {s} work in?
        Where in the building is {s}: which room?
        Which room does {s} occupy?
        At which door should I knock to see {o}?
        Where do I go if I want to visit {o}: which room?
        In what room can I find {o}?
        In which room is {p} desk?
        What is the room of {o}?
        ~What room should I go to if I want to see {o}?
        ~Which room is occupied by {o}?"""),
    attribute("extension", "phone extension; extension; phone number", "extension", """
        {s} can be reached on extension {v}
        dial {v} to reach {o}
        calls for {o} go to {v}
        {s} answers the phone at {v}
        extension {v} belongs to {o}
        {s} picks up if you dial {v}
        if you ring {v}, {s} will answer
        you can speak with {o} on extension {v}
        the number under which {s} picks up is {v}
        on the phone, {s} has the number {v}
        the phone of {o} has the extension {v}
        ~ring {v} to speak to {o}
        ~{s} picks up at {v}""", """
        On which extension can {s} be reached?
        What number do I dial for {o}?
        How can I reach {o} by phone?
        Which extension does {s} have?
        What extension should I ring for {o}?
        On which number does {s} pick up?
        Which number must be dialled to speak with {o}?
        Under which extension does {s} answer?
        What is the phone number of {o}?
        At what number does {s} answer the phone?
        ~What should I dial to speak to {o}?
        ~Under what number does {s} pick up?"""),
    attribute("email", "e-mail address; e-mail; email address", "email", """
        {s} can be written to at {v}
        mail for {o} goes to {v}
        write to {v} to contact {o}
        {s} reads mail sent to {v}
        {s} uses the address {v}
        messages sent to {v} are answered by {o}
        you should send a message for {o} to {v}
        the address at which {s} answers mail is {v}
        to send {o} a message, use {v}
        {s} has the mailbox {v}
        you can contact {o} by e-mail at {v}
        ~{s} answers messages sent to {v}
        ~messages for {o} should be sent to {v}""", """
        What is the e-mail of {o}?
        Where can I write to {o}?
        Which e-mail address does {s} use?
        What address should mail for {o} go to?
        How can I send a message to {o}?
        At which address does {s} answer e-mail?
        Where should I send mail for {o}?
        By which e-mail address can I contact {o}?
        What is the address that {s} uses for messages?
        ~Where should messages for {o} be sent?
        ~How do I contact {o} by e-mail?"""),
    attribute("start", "start year; year of joining; first year here", "year", """
        {s} joined in {v}
        {s} has worked here since {v}
        {s} started work in {v}
        {s} came to the company in {v}
        in {v}, {s} was hired
        the payroll has listed {o} since {v}
        {p} name came onto the payroll in {v}
        {s} came on the staff in {v}
        {v} was the year in which {s} joined
        {p} first year here was {v}
        {s} signed a contract in {v}
        since {v}, {s} has been with the company
        ~{s} has been on the payroll since {v}
        ~it was in {v} that {s} came on board""", """
        When did {s} join?
        In which year did {s} start?
        Since when has {s} worked here?
        What year did {s} join?
        When was {s} hired?
        In which year did {s} come to the company?
        Since which year has {s} been on the staff?
        When did {p} name come onto the payroll?
        When did {s} start work here?
        In which year did {s} sign the contract?
        ~In what year was {s} hired?
        ~When did {s} come on board?""", wh="What", more="""
        Who joined later, {a} or {b}?
        Who started more recently, {a} or {b}?""", less="""
        Who joined earlier, {a} or {b}?
        Who started first, {a} or {b}?"""),
)  # fmt: skip
