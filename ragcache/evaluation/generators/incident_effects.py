"""Attributes of incidents: what they did and what ended them."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("cost", "cost; total cost; damage", "amount", """
        {s} cost {v}
        the company lost {v} through {o}
        the bill for {o} came to {v}
        {s} caused damage of {v}
        because of {o}, the company had to pay {v}
        {v} was paid for {o}
        the damage of {o} was set at {v}
        the repair after {o} cost {v}
        to get things back in order after {o}, {v} had to be spent
        {s} came with costs of {v}
        {s} was a loss of {v}
        ~{s} set the company back {v}
        ~{v} had to be paid because of {o}""", """
        How much did {s} cost?
        How much did the company lose through {o}?
        What did {s} cost?
        How high was the bill for {o}?
        How much had to be spent because of {o}?
        At how much was the damage of {o} set?
        How much was paid for {o}?
        What was the cost of {o}?
        How high was the damage of {o}?
        How much did the company have to pay to get things back after {o}?
        ~How much did {s} set the company back?
        ~What had to be paid because of {o}?""", more="""
        Which cost more, {a} or {b}?
        Which was more expensive, {a} or {b}?""", less="""
        Which cost less, {a} or {b}?
        Which was cheaper, {a} or {b}?"""),
    attribute("system", "affected system; system affected", "system", """
        {s} affected {v}
        {s} put {v} out of order
        {v} stopped working because of {o}
        during {o}, {v} was down
        {v} came to a halt during {o}
        because of {o}, {v} failed
        {s} brought trouble to {v}
        {s} stopped {v}
        {v} was affected by {o}
        the system hit by {o} was {v}
        {s} made {v} stop
        ~{s} brought {v} to a halt
        ~{v} failed in {o}""", """
        Which system was affected by {o}?
        What did {s} affect?
        What stopped working because of {o}?
        What was down during {o}?
        Which system came to a halt during {o}?
        Which system failed because of {o}?
        What did {s} stop?
        What did {s} put out of order?
        Which system was hit by {o}?
        What did {s} bring to a halt?
        ~What was brought to a halt by {o}?
        ~What failed in {o}?"""),
    attribute("tool", "tool used; tool for the repair", "tool", """
        {v} was used to fix {o}
        {s} was repaired with {v}
        the repair of {o} took {v}
        the help that ended {o} came from {v}
        it was {v} that brought {o} to an end
        in {o}, things were under control again with {v}
        {s} was ended with the help of {v}
        the fault behind {o} was repaired with {v}
        {s} called for {v}
        the people who fixed {o} used {v}
        the crew controlled {o} by means of {v}
        ~{v} helped to end {o}
        ~{s} was brought under control with {v}""", """
        What was used to fix {o}?
        With what was {s} repaired?
        Which tool was used for {o}?
        What did the crew use to fix {o}?
        With the help of what was {s} ended?
        What brought {o} to an end?
        With what were things under control again in {o}?
        Which tool did {s} call for?
        What tool was used to repair the fault behind {o}?
        ~What helped to end {o}?
        ~With what was {s} brought under control?"""),
    attribute("injured", "number of people affected; number of affected people", "count", """
        {s} affected {v} people
        {v} people were affected by {o}
        because of {o}, {v} people had to wait
        {s} left {v} people without service
        {v} people felt {o}
        {v} people had to suffer because of {o}
        {s} hit {v} people
        {s} made {v} people wait
        {s} was a trouble for {v} people
        in all, {s} affected {v} people
        ~{v} people suffered from {o}
        ~{s} was felt by {v} people""", """
        How many people were affected by {o}?
        How many people did {s} affect?
        How many people were left without service by {o}?
        How many people had to wait because of {o}?
        How many people felt {o}?
        How many people did {s} hit?
        How many people had to suffer because of {o}?
        How many people did {s} make wait?
        For how many people was {s} a trouble?
        ~How many people suffered from {o}?
        ~By how many people was {s} felt?""", more="""
        Which affected more people, {a} or {b}?""", less="""
        Which affected fewer people, {a} or {b}?"""),
    attribute("helpers", "helpers; people who helped", "people", """
        {v} helped with {o}
        {v} were called to {o}
        {s} kept {v} busy
        the crew that was called to {o} was made up of {v}
        help with {o} came from {v}
        a helping hand in {o} was lent by {v}
        {v} were on duty for {o}
        {v} worked on {o}
        {v} were the crew that came for {o}
        those who helped with {o} were {v}
        ~{v} lent a hand with {o}
        ~the crew for {o} was {v}""", """
        Who helped with {o}?
        Who was called to {o}?
        Name the people who helped with {o}.
        Who came to help with {o}?
        Who was on duty for {o}?
        Who worked on {o}?
        By whom was a helping hand lent in {o}?
        Which people were called to {o}?
        Who were the crew that came for {o}?
        ~Who lent a hand with {o}?
        ~Who was on the crew for {o}?""", wh="Who", plural=True),
)  # fmt: skip
