"""Attributes of people: home, learning and likes."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("city", "home city; home town; place of residence", "city", """
        {s} lives in {v}
        {s} has a flat in {v} and lives there
        {v} is where {s} lives
        {s}, who comes in by train, lives in {v}
        {p} home is in {v}
        {v} is the town where {s} resides
        the place in which {s} resides is {v}
        at night, {s} goes back to {v}
        {s} spends every evening at home in {v}
        what {s} calls home is {v}
        the train that takes {o} home stops in {v}
        {s} has settled in {v}
        ~{s} resides in {v}
        ~{s} goes home to {v} every evening""", """
        Where does {s} live?
        In which city does {s} live?
        Which city does {s} live in?
        Name the city where {s} lives.
        Where does {s} reside?
        Which town does {s} live in?
        To which city does {s} go home?
        Where is {p} home?
        In which town is {p} home?
        What is the town where {s} lives?
        In which place does {s} spend the evening?
        ~What city is home to {o}?
        ~In what town does {s} reside?""", changes=True),
    attribute("birthday", "birthday; date of birth", "day", """
        {s} celebrates a birthday on {v}
        {s} was born on {v}
        on {v}, {s} has a birthday
        {s} turns a year older on {v}
        the birthday of {o} falls on {v}
        {p} birthday cake is served on {v}
        we congratulate {o} every year on {v}
        {s} came into this world as a baby on {v}
        on {v}, the team congratulates {o} on growing a year older
        each year on {v}, there is a party for {o}
        {v} is the day on which {s} was born
        ~there is cake for {o} on {v}, a birthday
        ~{s} came into the world on {v}""", """
        When is {p} birthday?
        When was {s} born?
        On which day was {s} born?
        On what day does {s} celebrate a birthday?
        On what date is {p} birthday?
        On which date should we congratulate {o}?
        When does {s} turn a year older?
        When did {s} come into the world?
        What day is the birthday cake of {o} for?
        What is the birthday of {o}?
        ~On what date does {s} turn a year older?
        ~When do we congratulate {o} on a birthday?""", wh="What"),
    attribute("hobby", "hobby; favourite pastime; pastime", "hobby", """
        {s} enjoys {v}
        {s} spends weekends on {v}
        after work, {s} likes {v}
        {s} is fond of {v}
        {s} has a passion for {v}
        {s} finds time to relax through {v}
        to relax, {s} takes to {v}
        {p} free evenings go into {v}
        {s} took up {v} as a hobby
        {v} fills the free time of {o}
        {p} hobby is {v}
        when there is free time, {s} goes for {v}
        ~in free time, {s} takes up {v}
        ~{s} relaxes with {v}""", """
        What does {s} like to do after work?
        What does {s} enjoy?
        How does {s} spend weekends?
        What is {s} fond of?
        What is the hobby of {o}?
        What helps {o} to relax?
        Which hobby did {s} take up?
        With what does {s} fill free time?
        Which pastime does {s} enjoy?
        How does {s} like to spend free evenings?
        ~What does {s} do in free time?
        ~How does {s} relax?"""),
    attribute("languages", "languages; spoken languages", "languages", """
        {s} speaks {v}
        {s} is fluent in {v}
        {s} can talk to guests in {v}
        {s} knows {v}
        {s} has a good command of {v}
        {s} can converse with guests in {v}
        you can use {v} with {o}
        {s} has learned {v}
        {s} gets along well in {v}
        {s} reads and writes {v}
        {s} can get by with customers who speak {v}
        ~{s} converses in {v}
        ~{s} gets by in {v}""", """
        Which languages does {s} speak?
        What languages does {s} know?
        In which languages is {s} fluent?
        List the languages that {s} speaks.
        Which languages can I use to converse with {o}?
        In which languages does {s} get along?
        Which languages has {s} learned?
        What does {s} speak?
        Which languages can {s} get by in with guests?
        ~In which languages can {s} converse?
        ~What languages can I use with {o}?""", wh="Which", plural=True),
    attribute("skills", "skills; main skills; strengths", "skills", """
        {s} is trained in {v}
        {s} is good at {v}
        {s} brings skills in {v}
        {s} took courses in {v}
        {s} has experience in {v}
        {v} are things that {s} excels in
        people know {o} for {v}
        colleagues have known {o} to be strong in {v}
        {s} has learned {v}
        {s} has a talent for {v}
        {s} can help with {v}
        ~{s} excels at {v}
        ~{s} is known for {v}""", """
        What is {s} good at?
        Which skills does {s} have?
        In what is {s} trained?
        List the skills of {o}.
        In what does {s} excel?
        What do people know {o} for?
        What has {s} learned?
        In what does {s} have experience?
        What can {s} help with?
        What skills is {s} known to have?
        ~What does {s} excel at?
        ~What is {s} known for?""", wh="Which", plural=True),
    attribute("mentor", "mentor; coach; tutor", "person", """
        {s} is mentored by {v}
        {v} mentors {o}
        {s} learns the job from {v}
        {v} coaches {o}
        {v} has taken {o} on as a learner
        {s} learns the ropes from {v}
        the one who mentors {o} is {v}
        {v} took {o} under a wing
        {v} guides {o} through the job
        {s} is guided by {v}
        {s} is coached by {v}
        {v} shows {o} how the work is done
        ~{v} shows {o} the ropes
        ~{s} was taken under the wing of {v}""", """
        Who mentors {o}?
        Who coaches {o}?
        By whom is {s} mentored?
        From whom does {s} learn the job?
        Who teaches {o} the ropes?
        By whom is {s} guided?
        Who took {o} under a wing?
        Who is the coach of {o}?
        Who guides {o} through the job?
        Who shows {o} how the work is done?
        ~Who shows {o} the ropes?
        ~Who guides {o} as a mentor?""", wh="Who", link="""
        the mentor of {o}
        {p} mentor
        the person who mentors {o}
        the one who guides {o}
        the person who coaches {o}
        the coach of {o}
        the one from whom {s} learns the ropes
        ~the one who coaches {o}"""),
    attribute("food", "favourite food; favourite dish; favourite meal", "food", """
        {s} loves {v}
        {s} likes to eat {v}
        {s} orders {v} for lunch
        {s} could eat {v} every day
        a plate of {v} makes {o} happiest
        {s} always says yes to {v}
        {s} never gets tired of {v}
        if you cook for {o}, you should make {v}
        the dish that {s} likes best is {v}
        there should be {v} on the plate of {o}
        {s} cooks {v} on days off
        {s} would have {v} for every meal
        ~{s} never says no to {v}
        ~{s} is happiest with {v} on the plate""", """
        What does {s} like to eat?
        Which dish does {s} love?
        What does {s} order for lunch?
        Which food does {s} like best?
        What should be on the plate of {o}?
        Which dish makes {o} happiest?
        What does {s} always say yes to?
        What does {s} never get tired of?
        What would {s} like us to cook?
        What is the favourite food of {o}?
        ~What would {s} never say no to?
        ~What should I cook for {o}?"""),
    attribute("pet", "kind of pet; type of pet", "animal", """
        {s} keeps {a} {v}
        {s} has {a} {v} at home
        {s} owns {a} {v}
        {s} walks to work with {a} {v}
        {s} cares for {a} {v}
        the home of {o} is shared with {a} {v}
        {a} {v} shares the sofa with {o}
        {s} takes {a} {v} for walks
        {s} has got {a} {v} as a pet
        {a} {v} lives with {o}
        the pet of {o} is {a} {v}
        ~{s} shares a home with {a} {v}
        ~{s} takes care of {a} {v}""", """
        What pet does {s} have?
        Which animal does {s} keep?
        What kind of animal does {s} own?
        What animal lives with {o}?
        What sort of animal does {s} have?
        Which pet does {s} care for?
        What kind of pet does {s} keep at home?
        What animal is the home of {o} shared with?
        Which animal does {s} take for walks?
        Which pet does {s} own?
        ~Which animal shares a home with {o}?
        ~What sort of pet does {s} take care of?"""),
    attribute("university", "university; place of study", "university", """
        {s} studied at {v}
        {s} has a degree from {v}
        {s} graduated from {v}
        {v} gave {o} a degree
        the diploma of {o} comes from {v}
        {v} counts {o} among its graduates
        {s} went to {v} to study
        {s} earned a degree at {v}
        {s} was a student at {v}
        {s} holds a diploma from {v}
        {p} studies took place at {v}
        ~{s} earned a diploma at {v}
        ~{s} is a graduate of {v}""", """
        Where did {s} study?
        From which university did {s} graduate?
        At which university did {s} study?
        Where does {p} degree come from?
        Which university gave {o} a diploma?
        Where did {s} earn a degree?
        Where was {s} a student?
        Where did {s} graduate?
        Which university has {o} among its graduates?
        At what university did {s} earn a degree?
        ~Which university is {s} a graduate of?
        ~Where did {s} earn a diploma?"""),
)  # fmt: skip
