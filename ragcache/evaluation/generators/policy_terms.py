"""Attributes of policies: the terms they set."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("limit", "limit; upper limit; maximum amount", "amount", """
        {s} allows up to {v}
        {s} covers costs of up to {v}
        under {o}, no more than {v} is paid
        {s} pays {v} at most
        claims under {o} stop at {v}
        {s} has a cap of {v}
        payments under {o} have been capped: {v} is the most
        staff can claim up to {v} under {o}
        {s} never covers more than {v}
        costs under {o} may be up to {v}
        a claim under {o} may come to {v} at most
        the limit of {o} is {v}
        {s} sets a limit of {v}
        ~{s} is capped at {v}
        ~more than {v} is never paid under {o}""", """
        How much does {s} allow?
        Up to what amount does {s} pay?
        How much is paid at most under {o}?
        What is the most that {s} covers?
        What is the limit of {o}?
        How much may a claim under {o} come to?
        Up to what amount can staff claim under {o}?
        What is the cap of {o}?
        What limit does {s} set?
        At what amount are payments under {o} capped?
        How much does {s} cover at most?
        ~At what amount is {s} capped?
        ~How much can I claim under {o}?""", changes=True, more="""
        Which allows a higher amount, {a} or {b}?
        Which has the higher limit, {a} or {b}?""", less="""
        Which allows a lower amount, {a} or {b}?
        Which has the lower limit, {a} or {b}?"""),
    attribute("notice", "notice period; advance notice", "days", """
        {s} requires notice of {v}
        requests under {o} must be made {v} ahead
        {s} asks for {v} of notice
        under {o}, staff give notice of {v}
        using {o} takes a word to your manager {v} ahead
        anyone who uses {o} must tell the manager {v} ahead
        requests under {o} must be announced {v} ahead
        {s} has a notice period of {v}
        a warning of {v} applies under {o}
        you must apply {v} early to use {o}
        {s} can only be used if you ask {v} before
        staff have to announce requests under {o} with {v} of notice
        ~tell your manager {v} before using {o}
        ~{s} applies only with {v} of warning""", """
        How much notice does {s} require?
        How far ahead must requests under {o} be made?
        How long is the notice period of {o}?
        What notice does {s} ask for?
        How long ahead must I tell my manager if I want to use {o}?
        What warning does {s} ask for?
        How early must requests under {o} be announced?
        How far ahead must I apply under {o}?
        What is the notice period of {o}?
        How much warning applies under {o}?
        ~How long before using {o} must I tell my manager?
        ~How early must I ask under {o}?""", changes=True, more="""
        Which has the longer notice period, {a} or {b}?""", less="""
        Which has the shorter notice period, {a} or {b}?"""),
    attribute("deadline", "deadline; final date", "date", """
        applications under {o} close {in} {v}
        the last chance to apply under {o} is {v}
        {s} takes no claims after {v}
        {v} is the last day for {o}
        after {v}, nothing more is accepted under {o}
        it is too late for a claim under {o} after {v}
        a request under {o} has to arrive before {v}
        send in claims under {o} by {v}
        forms for {o} must be handed in by {v}
        applications under {o} are taken until {v}
        a claim under {o} that is sent after {v} comes too late
        {s} has its deadline {in} {v}
        ~nothing can be sent in under {o} after {v}
        ~claims under {o} must arrive by {v}""", """
        When do applications under {o} close?
        Until when can I apply under {o}?
        When is the last chance to apply under {o}?
        After which date does {s} take no claims?
        After what date is a claim under {o} too late?
        By what date must forms for {o} be handed in?
        By when must I send in a claim under {o}?
        What is the last day for {o}?
        What is the deadline of {o}?
        Before which date does a request under {o} have to arrive?
        ~By when must claims under {o} arrive?
        ~When is it too late to apply under {o}?""", wh="What", changes=True),
    attribute("days", "allowance; yearly allowance", "days", """
        {s} grants {v} a year
        staff get {v} a year under {o}
        under {o}, everyone has {v} a year
        {s} gives {v} per year
        staff are entitled to {v} a year under {o}
        everyone may take up to {v} each year under {o}
        the time taken under {o} may come to {v} a year
        {s} allows {v} a year
        each year, {s} gives staff {v}
        {s} offers {v} each year
        a year under {o} comes with {v} of free time
        ~{s} entitles staff to {v} a year
        ~up to {v} a year can be taken under {o}""", """
        How many days does {s} grant a year?
        How long can I be away under {o} each year?
        How much time does {s} give per year?
        How much time do staff get under {o} a year?
        How much time may be taken under {o} each year?
        What are staff entitled to under {o} each year?
        How much time does {s} allow a year?
        How many days or weeks a year does {s} offer?
        How much free time comes with {o} each year?
        ~How much time a year can be taken under {o}?
        ~To how much time a year does {s} entitle staff?""", changes=True),
    attribute("rate", "rate; refund rate", "percent", """
        {s} refunds {v} of the cost
        under {o}, {v} of the cost is paid back
        {s} pays {v} of the bill
        staff get back {v} under {o}
        {v} of the cost is met under {o}
        the share of the bill that {s} meets is {v}
        {v} of a bill is taken over by {o}
        {s} covers {v} of costs
        {s} meets {v} of the cost
        the company pays back {v} under {o}
        the refund under {o} is {v}
        you get {v} of every bill back under {o}
        ~{v} of every bill is met by {o}
        ~{s} takes over {v} of the bill""", """
        What share of the cost does {s} refund?
        How much of the bill does {s} pay?
        What percentage is paid back under {o}?
        Which part of the cost do staff get back under {o}?
        How much of the bill is taken over under {o}?
        What share of costs does {s} cover?
        What percentage of the cost does {s} meet?
        How high is the refund under {o}?
        What share of every bill do staff get back under {o}?
        What percentage does {s} refund?
        ~What share of the bill does {s} take over?
        ~How much of every bill is met by {o}?""", changes=True, more="""
        Which refunds a larger share, {a} or {b}?""", less="""
        Which refunds a smaller share, {a} or {b}?"""),
    attribute("form", "form; form number", "code", """
        {s} uses form {v}
        fill in form {v} for {o}
        requests under {o} are made on form {v}
        form {v} goes with {o}
        nobody gets anything under {o} without {v}, the form for it
        the form that is called for under {o} is {v}
        a request under {o} calls for form {v}
        use form {v} for requests under {o}
        {s} needs form {v}
        {s} can only be used with form {v}
        form {v} must be handed in for {o}
        ~without form {v}, nobody can use {o}
        ~{s} calls for form {v}""", """
        Which form does {s} use?
        What form do I fill in for {o}?
        On which form are requests under {o} made?
        Which form goes with {o}?
        Which form does a request under {o} call for?
        Without what form does nobody get anything under {o}?
        Which form must be handed in for {o}?
        What form does {s} need?
        Which form do I use for {o}?
        What is the form of {o}?
        ~What form does {s} call for?
        ~Without which form can nobody use {o}?"""),
)  # fmt: skip
