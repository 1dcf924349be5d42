"""Attributes of people."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("city", "home city; home town; place of residence", "city", """
        {s} lives in {v}
        {s} has a flat in {v} and lives there
        {v} is where {s} lives
        {s}, who comes in by train, lives in {v}
        {p} home is in {v}
        ~{s} resides in {v}
        ~{s} goes home to {v} every evening""", """
        Where does {s} live?
        In which city does {s} live?
        Which city does {s} live in?
        Name the city where {s} lives.
        ~What city is home to {o}?
        ~In what town does {s} reside?""", changes=True),
    attribute("job", "job; profession; job title", "job", """
        {s} works as {a} {v}
        {s} is {a} {v}
        {s} is {a} {v} by profession
        {s} was hired as {a} {v}
        {s}, {a} {v}, joined some time ago
        ~{s} earns a living as {a} {v}
        ~{s} is employed as {a} {v}""", """
        What does {s} do for a living?
        What does {s} work as?
        What kind of work does {s} do?
        As what does {s} work?
        ~What is {s} employed as?
        ~What line of work is {s} in?""", changes=True),
    attribute("manager", "manager; line manager; boss", "person", """
        {s} reports to {v}
        {v} manages {o}
        {s} is managed by {v}
        {s} works under {v}
        {v} is in charge of {o}
        ~{s} takes instructions from {v}
        ~{v} supervises {o}""", """
        Who manages {o}?
        Who does {s} report to?
        To whom does {s} report?
        By whom is {s} managed?
        ~Who supervises {o}?
        ~Under whom does {s} work?""", wh="Who", changes=True, link="""
        the manager of {o}
        {p} manager
        the person who manages {o}
        the person {s} reports to
        ~the boss of {o}
        ~the one who supervises {o}"""),
    attribute("team", "team; department; group", "team", """
        {s} belongs to {v}
        {s} is a member of {v}
        {s} works for {v}
        {v} counts {o} among its members
        {s} is part of {v}
        ~{s} has a place in {v}
        ~{s} is on the staff of {v}""", """
        Which team does {s} belong to?
        Which team is {s} part of?
        What team is {s} in?
        Who does {s} work for?
        ~Of which team is {s} a member?
        ~Where does {s} fit in: which team?""", changes=True, link="""
        the team that {s} belongs to
        {p} team
        the team of {o}
        ~the team in which {s} works"""),
    attribute("office", "office; workplace; place of work", "place", """
        {s} works at {v}
        {s} is based at {v}
        {s} can be found at {v}
        {v} is where {s} works
        {p} desk is at {v}
        ~{s} is stationed at {v}
        ~{s} spends working days at {v}""", """
        Where does {s} work?
        At which site does {s} work?
        Where is {s} based?
        Where is {p} desk?
        ~At which site is {s} stationed?
        ~In which place can {s} be found at work?""", changes=True, wh="Which", link="""
        the place where {s} works
        the site where {s} is based
        {p} workplace
        ~the location where {s} has a desk"""),
    attribute("room", "room; room number; office room", "room", """
        {s} sits in room {v}
        {s} has moved into room {v}
        room {v} belongs to {o}
        you will find {o} in room {v}
        {s} works in room {v}
        ~knock at room {v} to see {o}
        ~room {v} is occupied by {o}""", """
        In which room does {s} sit?
        Which room is {s} in?
        What room does {s} work in?
        Where in the building is {s}: which room?
        ~What room should I go to if I want to see {o}?
        ~Which room is occupied by {o}?"""),
    attribute("extension", "phone extension; extension; phone number", "extension", """
        {s} can be reached on extension {v}
        dial {v} to reach {o}
        calls for {o} go to {v}
        {s} answers the phone at {v}
        extension {v} belongs to {o}
        ~ring {v} to speak to {o}
        ~{s} picks up at {v}""", """
        On which extension can {s} be reached?
        What number do I dial for {o}?
        How can I reach {o} by phone?
        Which extension does {s} have?
        ~What should I dial to speak to {o}?
        ~Under what number does {s} pick up?"""),
    attribute("email", "e-mail address; e-mail; email address", "email", """
        {s} can be written to at {v}
        mail for {o} goes to {v}
        write to {v} to contact {o}
        {s} reads mail sent to {v}
        {s} uses the address {v}
        ~{s} answers messages sent to {v}
        ~messages for {o} should be sent to {v}""", """
        What is the e-mail of {o}?
        Where can I write to {o}?
        Which e-mail address does {s} use?
        What address should mail for {o} go to?
        ~Where should messages for {o} be sent?
        ~How do I contact {o} by e-mail?"""),
    attribute("start", "start year; year of joining; first year here", "year", """
        {s} joined in {v}
        {s} has worked here since {v}
        {s} started work in {v}
        {s} came to the company in {v}
        in {v}, {s} was hired
        ~{s} has been on the payroll since {v}
        ~it was in {v} that {s} came on board""", """
        When did {s} join?
        In which year did {s} start?
        Since when has {s} worked here?
        What year did {s} join?
        ~In what year was {s} hired?
        ~When did {s} come on board?""", wh="What", more="""
        Who joined later, {a} or {b}?
        Who started more recently, {a} or {b}?""", less="""
        Who joined earlier, {a} or {b}?
        Who started first, {a} or {b}?"""),
    attribute("birthday", "birthday; date of birth", "day", """
        {s} celebrates a birthday on {v}
        {s} was born on {v}
        on {v}, {s} has a birthday
        {s} turns a year older on {v}
        ~there is cake for {o} on {v}, a birthday
        ~{s} came into the world on {v}""", """
        When is {p} birthday?
        When was {s} born?
        On which day was {s} born?
        On what day does {s} celebrate a birthday?
        ~On what date does {s} turn a year older?
        ~When do we congratulate {o} on a birthday?""", wh="What"),
    attribute("hobby", "hobby; favourite pastime; pastime", "hobby", """
        {s} enjoys {v}
        {s} spends weekends on {v}
        after work, {s} likes {v}
        {s} is fond of {v}
        {s} has a passion for {v}
        ~in free time, {s} takes up {v}
        ~{s} relaxes with {v}""", """
        What does {s} like to do after work?
        What does {s} enjoy?
        How does {s} spend weekends?
        What is {s} fond of?
        ~What does {s} do in free time?
        ~How does {s} relax?"""),
    attribute("languages", "languages; spoken languages", "languages", """
        {s} speaks {v}
        {s} is fluent in {v}
        {s} can talk to guests in {v}
        {s} knows {v}
        {s} has a good command of {v}
        ~{s} converses in {v}
        ~{s} gets by in {v}""", """
        Which languages does {s} speak?
        What languages does {s} know?
        In which languages is {s} fluent?
        List the languages that {s} speaks.
        ~In which languages can {s} converse?
        ~What languages can I use with {o}?""", wh="Which", plural=True),
    attribute("skills", "skills; main skills; strengths", "skills", """
        {s} is trained in {v}
        {s} is good at {v}
        {s} brings skills in {v}
        {s} took courses in {v}
        {s} has experience in {v}
        ~{s} excels at {v}
        ~{s} is known for {v}""", """
        What is {s} good at?
        Which skills does {s} have?
        In what is {s} trained?
        List the skills of {o}.
        ~What does {s} excel at?
        ~What is {s} known for?""", wh="Which", plural=True),
    attribute("mentor", "mentor; coach; tutor", "person", """
        {s} is mentored by {v}
        {v} mentors {o}
        {s} learns the job from {v}
        {v} coaches {o}
        ~{v} shows {o} the ropes
        ~{s} was taken under the wing of {v}""", """
        Who mentors {o}?
        Who coaches {o}?
        By whom is {s} mentored?
        From whom does {s} learn the job?
        ~Who shows {o} the ropes?
        ~Who guides {o} as a mentor?""", wh="Who", link="""
        the mentor of {o}
        {p} mentor
        the person who mentors {o}
        ~the one who coaches {o}"""),
    attribute("food", "favourite food; favourite dish; favourite meal", "food", """
        {s} loves {v}
        {s} likes to eat {v}
        {s} orders {v} for lunch
        {s} could eat {v} every day
        ~{s} never says no to {v}
        ~{s} is happiest with {v} on the plate""", """
        What does {s} like to eat?
        Which dish does {s} love?
        What does {s} order for lunch?
        Which food does {s} like best?
        ~What would {s} never say no to?
        ~What should I cook for {o}?"""),
    attribute("pet", "kind of pet; type of pet", "animal", """
        {s} keeps {a} {v}
        {s} has {a} {v} at home
        {s} owns {a} {v}
        {s} walks to work with {a} {v}
        ~{s} shares a home with {a} {v}
        ~{s} takes care of {a} {v}""", """
        What pet does {s} have?
        Which animal does {s} keep?
        What kind of animal does {s} own?
        What animal lives with {o}?
        ~Which animal shares a home with {o}?
        ~What sort of pet does {s} take care of?"""),
    attribute("university", "university; place of study", "university", """
        {s} studied at {v}
        {s} has a degree from {v}
        {s} graduated from {v}
        {v} gave {o} a degree
        ~{s} earned a diploma at {v}
        ~{s} is a graduate of {v}""", """
        Where did {s} study?
        From which university did {s} graduate?
        At which university did {s} study?
        Where does {p} degree come from?
        ~Which university is {s} a graduate of?
        ~Where did {s} earn a diploma?"""),
)  # fmt: skip
