"""Attributes of teams: meetings, contacts, members, branches."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("meeting", "meeting day; day of the weekly meeting", "weekday", """
        {s} meets on {v}
        {s} holds its meeting on {v}
        every {v}, {s} meets
        meetings of {o} take place on {v}
        people from {o} sit together on {v}
        on {v}, everyone in {o} sits down for the weekly meeting
        the weekday on which {s} meets is {v}
        the weekly meeting of {o} is on {v}
        {s} gets its people together each {v}
        {v} is the meeting day of {o}
        on {v}, {s} comes together
        ~{s} gets together on {v}
        ~{v} is when {s} sits down together""", """
        On which day does {s} meet?
        When does {s} meet?
        On what day does {s} hold its meeting?
        When do meetings of {o} take place?
        On which weekday does {s} meet?
        What is the meeting day of {o}?
        When do people from {o} sit together?
        On which day is the weekly meeting of {o}?
        When does everyone in {o} sit down for the meeting?
        On what day does {s} get its people together?
        Which day of the week does {s} meet?
        ~On which day does {s} get together?
        ~On what weekday does {s} sit down together?""", changes=True),
    attribute("time", "meeting time; start of the meeting", "time", """
        the weekly meeting of {o} starts at {v}
        {s} starts its meeting at {v}
        members of {o} come together at {v}
        the meeting of {o} begins at {v}
        people in {o} sit together for a talk at {v}
        at {v}, {s} sits down for its meeting
        {s} meets at {v}
        {s} begins to talk about its work at {v}
        the talks in {o} start at {v}
        on meeting days, {s} comes together at {v}
        {s} begins its weekly meeting at {v}
        ~{s} sits down to talk at {v}
        ~at {v}, the talks of {o} begin""", """
        At what time does the meeting of {o} start?
        When does {s} start its meeting?
        At what time do members of {o} come together?
        When does the meeting of {o} begin?
        At what time does {s} meet?
        When does {s} sit together for a talk?
        When do the talks in {o} start?
        From what time does {s} sit in its meeting?
        What is the meeting time of {o}?
        When do people in {o} sit down for the meeting?
        ~At what time does {s} sit down to talk?
        ~At what time do the talks of {o} begin?""", changes=True),
    attribute("email", "e-mail address; mailbox; contact address", "email", """
        {s} can be contacted at {v}
        write to {o} at {v}
        messages to {o} go to {v}
        {s} uses the mailbox {v}
        a question for {o} can be mailed to {v}
        mail that {s} should receive is sent to {v}
        send your questions to {o} at {v}
        {s} reads mail sent to {v}
        {s} answers questions that are mailed to {v}
        the address of {o} is {v}
        to contact {o}, use {v}
        ~{s} receives mail at {v}
        ~questions for {o} should be sent to {v}""", """
        Where can I write to {o}?
        At which address can {s} be contacted?
        Which mailbox does {s} use?
        Where do messages to {o} go?
        Where should mail for {o} be sent?
        At which address does {s} read mail?
        To which address can I mail a question for {o}?
        Where does {s} receive questions?
        What is the e-mail address of {o}?
        How do I contact {o} by e-mail?
        ~Where should questions for {o} be sent?
        ~At which address does {s} receive mail?"""),
    attribute("members", "members; team members", "people", """
        the members of {o} are {v}
        {v} belong to {o}
        {s} brings together {v}
        {v} work for {o}
        together, {v} make up {o}
        {s} is formed by {v}
        the people who form {o} are {v}
        {s} was made from the people {v}
        {s} consists of {v}
        {s} has the members {v}
        {v} are in {o}
        {v} are the people of {o}
        ~{s} is made up of {v}
        ~{v} form {o}""", """
        Who belongs to {o}?
        Who works for {o}?
        Name the members of {o}.
        Which people are in {o}?
        Which people make up {o}?
        By whom is {s} formed?
        Of whom does {s} consist?
        Who are the members of {o}?
        Whom does {s} bring together?
        List the members of {o}.
        ~Of whom is {s} made up?
        ~Which people form {o}?""", wh="Who", plural=True),
    attribute("cities", "branches; branch cities", "cities", """
        {s} has branches in {v}
        {s} is active in {v}
        {s} serves customers in {v}
        people in {v} work with {o}
        the outposts that {s} runs are in {v}
        {s} is run from branches in {v}
        {s} keeps offices in {v}
        you can find {o} present in the cities {v}
        {s} works in {v}
        {s} has people in {v}
        the branches of {o} are in {v}
        ~{s} is present in {v}
        ~{s} runs outposts in {v}""", """
        In which cities does {s} have branches?
        In which cities is {s} active?
        List the branches of {o}.
        Where does {s} have outposts?
        In which cities are the branches of {o}?
        In which cities does {s} serve customers?
        From which cities is {s} run?
        In which cities can {s} be found?
        Which cities have a branch of {o}?
        ~In which cities is {s} present?
        ~In which cities does {s} run outposts?""", wh="Which", plural=True),
    attribute("code", "project code; accounting code", "code", """
        {s} uses the code {v}
        {s} books its hours on {v}
        costs of {o} are booked on {v}
        {s} is filed under {v}
        hours that go into {o} are booked on {v}
        money spent on {o} is listed under {v}
        the hours spent by {o} go under {v}
        in the books, {s} has the code {v}
        the code of {o} is {v}
        to book hours on {o}, use {v}
        {s} carries the code {v}
        ~the books list {o} under {v}
        ~hours spent on {o} go to {v}""", """
        Which code does {s} use?
        Under what code is {s} filed?
        On which code does {s} book its hours?
        On what code are costs of {o} booked?
        Which code is used for money spent on {o}?
        What code do the books have for {o}?
        Under which code are hours for {o} booked?
        Under what code does money for {o} go?
        What is the project code of {o}?
        Which code does {s} carry?
        ~Under what code do the books list {o}?
        ~Where do hours spent on {o} go?"""),
)  # fmt: skip
