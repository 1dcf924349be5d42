"""Attributes of places: what visitors need to know."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("opens", "opening time; opening hour", "time", """
        {s} opens at {v}
        the doors of {o} open at {v}
        {s} is open from {v}
        from {v}, {s} is open
        nobody is let into {o} earlier than {v}
        the staff let visitors into {o} from {v}
        people can come into {o} from {v} on
        the earliest visitors enter {o} at {v}
        {s} starts the day at {v}
        the opening time of {o} is {v}
        {s} unlocks its doors at {v}
        ~{s} lets people in at {v}
        ~nobody can enter {o} before {v}""", """
        When does {s} open?
        At what time does {s} open?
        From when is {s} open?
        From what time can I enter {o}?
        When do the doors of {o} open?
        When are people let into {o}?
        What is the opening time of {o}?
        How early can people enter {o}?
        What is the earliest hour at which {s} is open?
        At what time does {s} start the day?
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
        visitors must leave {o} at {v}
        {s} turns off its lights at {v}
        everyone goes home from {o} at {v}
        {s} is open until {v}
        after {v}, {s} is closed
        the lights are put out in {o} at {v}
        the closing time of {o} is {v}
        ~everyone has to leave {o} by {v}
        ~the lights of {o} go out at {v}""", """
        When does {s} close?
        At what time does {s} close?
        Until when is {s} open?
        When does {s} shut?
        At what time must visitors leave {o}?
        When does everyone go home from {o}?
        What is the closing time of {o}?
        At what time are the lights put out in {o}?
        When are the doors of {o} closed?
        Until what time can I stay in {o}?
        ~By when does everyone have to leave {o}?
        ~When do the lights of {o} go out?""", changes=True, more="""
        Which closes later, {a} or {b}?""", less="""
        Which closes earlier, {a} or {b}?"""),
    attribute("phone", "phone number; telephone number; front desk number", "phone", """
        call {v} to reach {o}
        {s} can be phoned at {v}
        the front desk of {o} answers at {v}
        {s} has the number {v}
        you can get through to {o} on {v}
        whoever rings {v} gets the front desk of {o}
        phone calls to {o} are taken at {v}
        {s} has a phone with the number {v}
        the phone number of {o} is {v}
        dial {v} to talk to {o}
        to phone {o}, ring {v}
        ~ring {v} to get through to {o}
        ~{s} takes calls at {v}""", """
        How can I phone {o}?
        What number does {s} have?
        At which number can {s} be phoned?
        What number do I call to reach {o}?
        How do I get {o} on the phone?
        What number should I ring for {o}?
        What is the phone number of {o}?
        Where are phone calls to {o} taken?
        Which number do I dial to get through to {o}?
        ~How do I get through to {o} by phone?
        ~At what number does {s} take calls?"""),
    attribute("door", "door code; entry code; access code", "code", """
        the door of {o} opens with {v}
        enter {v} to get into {o}
        {s} is locked with the code {v}
        type {v} at the door of {o}
        {s} can be unlocked with {v}
        the only code that opens {o} is {v}
        whoever keys in {v} can enter {o}
        the lock of {o} takes the code {v}
        you must key in {v} at the door of {o}
        {s} opens with the code {v}
        the code for the door of {o} is {v}
        ~only {v} unlocks {o}
        ~to enter {o}, key in {v}""", """
        Which code opens {o}?
        What code do I need for the door of {o}?
        With which code is {s} locked?
        What do I type at the door of {o}?
        What is the door code of {o}?
        With which code can {s} be unlocked?
        Which code must I enter at {o}?
        What has to be keyed in at the door of {o}?
        Which code does the lock of {o} take?
        How do I unlock {o}: with which code?
        ~What unlocks {o}?
        ~What must I key in to enter {o}?""", changes=True),
    attribute("days", "opening days; days of opening", "weekdays", """
        {s} is open on {v}
        {s} receives visitors on {v}
        you can visit {o} on {v}
        {s} works on {v}
        people can enter {o} on {v}
        the staff may be found at {o} on {v}
        visitors may come to {o} on {v}
        {s} opens on {v}
        the days on which {s} is open are {v}
        there is staff in {o} on {v}
        ~the staff of {o} are there on {v}
        ~on {v}, people may enter {o}""", """
        On which days is {s} open?
        Which days can I visit {o}?
        When in the week is {s} open?
        List the opening days of {o}.
        When in the week may people enter {o}?
        On which days is there staff in {o}?
        On which days does {s} open?
        On which days may visitors come to {o}?
        On what days does {s} receive visitors?
        ~On which days are the staff of {o} there?
        ~On what days may people enter {o}?""", wh="Which", plural=True),
    attribute("floor", "main floor", "floor", """
        the reception of {o} is on the {v}
        {s} has its reception on the {v}
        guests of {o} register on the {v}
        guests of {o} go to the {v} to sign in
        the front desk of {o} is on the {v}
        the {v} of {o} has the reception desk
        visitors to {o} are received on the {v}
        take the lift to the {v} for the reception of {o}
        visitors register on the {v} of {o}
        you will find the reception of {o} on the {v}
        ~go to the {v} to register at {o}
        ~the desk for guests of {o} is on the {v}""", """
        On which floor is the reception of {o}?
        Where in {o} is the reception?
        On what floor do guests of {o} register?
        On which floor is the front desk of {o}?
        Where in {o} do guests sign in?
        To what floor do guests of {o} go to sign in?
        On which floor does {s} receive visitors?
        Which floor of {o} has the reception desk?
        What floor do I take the lift to for the reception of {o}?
        ~To which floor do I go to register at {o}?
        ~On which floor is the desk for guests of {o}?"""),
)  # fmt: skip
