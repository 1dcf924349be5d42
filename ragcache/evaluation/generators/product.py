"""Attributes of products."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("price", "price; list price; retail price", "amount", """
        {s} costs {v}
        {s} sells for {v}
        {s} is sold at {v}
        customers pay {v} for {o}
        {s} can be bought for {v}
        ~{s} goes for {v}
        ~one has to pay {v} to own {o}""", """
        How much does {s} cost?
        How much is {o}?
        What does {s} cost?
        For how much is {s} sold?
        ~How much does one have to pay for {o}?
        ~What does {s} sell for?""", changes=True, more="""
        Which costs more, {a} or {b}?
        Which is more expensive, {a} or {b}?""", less="""
        Which costs less, {a} or {b}?
        Which is cheaper, {a} or {b}?"""),
    attribute("weight", "weight; net weight", "weight", """
        {s} weighs {v}
        {s} has a weight of {v}
        at {v}, {s} is easy to move
        on the scales, {s} shows {v}
        ~{s} tips the scales at {v}
        ~the scales show {v} for {o}""", """
        How heavy is {o}?
        How much does {s} weigh?
        What does {s} weigh?
        What weight does {s} have?
        ~At what weight does {s} tip the scales?
        ~How many kilos or grams does {s} weigh?""", more="""
        Which is heavier, {a} or {b}?
        Which weighs more, {a} or {b}?""", less="""
        Which is lighter, {a} or {b}?
        Which weighs less, {a} or {b}?"""),
    attribute("colour", "colour; standard colour", "colour", """
        {s} is {v}
        {s} comes in {v}
        {s} is painted {v}
        {s} is delivered in {v}
        ~{s} has {a} {v} finish
        ~the case of {o} is {v}""", """
        What colour is {o}?
        Which colour does {s} have?
        In which colour does {s} come?
        In what colour is {s} delivered?
        ~What colour is the case of {o}?
        ~Which colour was chosen for {o}?""", changes=True),
    attribute("designer", "designer; inventor; creator", "person", """
        {s} was designed by {v}
        {v} designed {o}
        {v} drew the plans for {o}
        the design of {o} comes from {v}
        {s} was invented by {v}
        ~{s} is the work of {v}
        ~{v} came up with {o}""", """
        Who designed {o}?
        By whom was {s} designed?
        Who drew the plans for {o}?
        Who invented {o}?
        ~Whose work is {o}?
        ~Who came up with {o}?""", wh="Who", link="""
        the designer of {o}
        the person who designed {o}
        the person who invented {o}
        {p} designer
        ~the one who came up with {o}
        ~the creator of {o}"""),
    attribute("factory", "factory city; place of manufacture; production site", "city", """
        {s} is made in {v}
        {s} is built in {v}
        the factory that makes {o} is in {v}
        {s} is produced in {v}
        {s} comes from a plant in {v}
        ~{s} rolls off the line in {v}
        ~workers in {v} assemble {o}""", """
        Where is {s} made?
        In which city is {s} built?
        Where is {s} produced?
        Where is the factory that makes {o}?
        ~In which city is {s} assembled?
        ~Where does {s} roll off the line?""", changes=True),
    attribute("release", "release date; launch date", "date", """
        {s} was released {in} {v}
        {s} came out {in} {v}
        {s} went on sale {in} {v}
        {in} {v}, {s} was launched
        ~{s} reached the shops {in} {v}
        ~sales of {o} began {in} {v}""", """
        When was {s} released?
        When did {s} come out?
        When did {s} go on sale?
        On what date was {s} launched?
        ~When did {s} reach the shops?
        ~When did sales of {o} begin?""", wh="What", more="""
        Which was released later, {a} or {b}?
        Which is newer, {a} or {b}?""", less="""
        Which was released earlier, {a} or {b}?
        Which came out first, {a} or {b}?"""),
    attribute("warranty", "warranty; guarantee; warranty period", "years", """
        {s} has a warranty of {v}
        {s} is guaranteed for {v}
        the maker repairs {o} free of charge for {v}
        {s} is covered for {v}
        ~buyers of {o} are protected for {v}
        ~defects of {o} are repaired for {v}""", """
        How long is the warranty of {o}?
        For how long is {s} guaranteed?
        How long is {s} covered?
        How long is {p} warranty?
        ~How long are buyers of {o} protected?
        ~For how long are defects of {o} repaired?""", changes=True),
    attribute("material", "material; main material", "material", """
        {s} is made of {v}
        {s} is built from {v}
        {v} is used to make {o}
        {s} consists of {v}
        ~the body of {o} is {v}
        ~{v} was chosen for the body of {o}""", """
        What is {s} made of?
        Which material is used for {o}?
        From what is {s} built?
        What does {s} consist of?
        ~What is the body of {o} made from?
        ~Out of what material is {s} made?"""),
    attribute("battery", "battery life; running time", "battery", """
        {s} runs for {v} on one charge
        one charge keeps {o} going for {v}
        the battery of {o} lasts {v}
        {s} needs a new charge after {v}
        ~{s} keeps going for {v} without a socket
        ~a full battery gives {o} {v}""", """
        How long does the battery of {o} last?
        How long does {s} run on one charge?
        After how long does {s} need a new charge?
        How long is {p} battery life?
        ~How long can {s} be used without a socket?
        ~How long does a full battery keep {o} going?""", more="""
        Which has the longer battery life, {a} or {b}?
        Which runs longer on one charge, {a} or {b}?""", less="""
        Which has the shorter battery life, {a} or {b}?"""),
    attribute("supplier", "supplier; vendor", "company", """
        {s} is supplied by {v}
        {v} supplies {o}
        {v} delivers the parts for {o}
        {s} is bought from {v}
        ~the parts of {o} come from {v}
        ~{v} provides {o}""", """
        Who supplies {o}?
        Which company supplies {o}?
        From whom is {s} bought?
        By which firm is {s} supplied?
        ~Where do the parts of {o} come from?
        ~Which firm provides {o}?""", wh="Who", changes=True),
    attribute("code_name", "code name; internal name", "word", """
        {s} is known inside the company as {v}
        {s} was called {v} during development
        {v} was the secret name of {o}
        engineers called {o} {v}
        ~before its launch, {s} went by {v}
        ~insiders refer to {o} as {v}""", """
        What was {s} called during development?
        Under which name is {s} known inside the company?
        What did engineers call {o}?
        What was the secret name of {o}?
        ~What did {s} go by before its launch?
        ~How do insiders refer to {o}?"""),
    attribute("part", "part number; article number; order code", "code", """
        {s} is listed under {v}
        order {o} under {v}
        {s} is number {v} in the catalogue
        {s} carries the code {v}
        ~{v} is stamped on {o}
        ~the label on {o} says {v}""", """
        Under which code is {s} listed?
        Which code does {s} carry?
        Under what number can {s} be ordered?
        What number does {s} have in the catalogue?
        ~What code is stamped on {o}?
        ~What does the label on {o} say?"""),
    attribute("colours", "colours; available colours", "colours", """
        {s} is available in {v}
        {s} is offered in {v}
        buyers of {o} can choose between {v}
        {s} can be ordered in {v}
        ~the shop stocks {o} in {v}
        ~{s} exists in {v}""", """
        In which colours is {s} available?
        Which colours can {s} be ordered in?
        List the colours of {o}.
        In what colours is {s} offered?
        ~Which colours of {o} does the shop stock?
        ~Between which colours can buyers of {o} choose?""", wh="Which", plural=True),
)  # fmt: skip
