"""Attributes of products: what they are and who made them."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("weight", "weight; net weight", "weight", """
        {s} weighs {v}
        {s} has a weight of {v}
        at {v}, {s} is easy to move
        on the scales, {s} shows {v}
        in kilos or grams, {s} weighs {v}
        put on the scales, {s} tips them at {v}
        {s} is light enough to carry at {v}
        {s} is {v} in weight
        whoever lifts {o} lifts {v}
        with {v}, {s} is neither heavy nor light
        ~{s} tips the scales at {v}
        ~the scales show {v} for {o}""", """
        How heavy is {o}?
        How much does {s} weigh?
        What does {s} weigh?
        What weight does {s} have?
        What is the weight of {o}?
        How many kilos or grams is {o}?
        At what number do the scales tip for {o}?
        What do the scales show for {o}?
        How much weight does {s} have?
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
        the outside of {o} is {v}
        the colour of {o} is {v}
        the maker has chosen {v} for {o}
        {s} is finished in {v}
        {s} stands in the shop in {v}
        {s} has a case painted {v}
        the paint on {o} is {v}
        ~{s} has {a} {v} finish
        ~the case of {o} is {v}""", """
        What colour is {o}?
        Which colour does {s} have?
        In which colour does {s} come?
        In what colour is {s} delivered?
        What is the colour of {o}?
        In which colour is {s} finished?
        What colour did the maker choose for {o}?
        What is the colour of the outside of {o}?
        In what colour is the case of {o} painted?
        ~What colour is the case of {o}?
        ~Which colour was chosen for {o}?""", changes=True),
    attribute("designer", "designer; inventor; creator", "person", """
        {s} was designed by {v}
        {v} designed {o}
        {v} drew the plans for {o}
        the design of {o} comes from {v}
        {s} was invented by {v}
        the idea for {o} came up in talks with {v}, who designed it
        the one who came up with the idea for {o} is {v}
        {v} did the design work on {o}
        {v} invented {o}
        {v} created {o}
        the designer of {o} is {v}
        {s} was drawn up by {v}
        ~{s} is the work of {v}
        ~{v} came up with {o}""", """
        Who designed {o}?
        By whom was {s} designed?
        Who drew the plans for {o}?
        Who invented {o}?
        Who did the design work on {o}?
        Who is the designer of {o}?
        Who came up with the idea for {o}?
        Who created {o}?
        From whom does the design of {o} come?
        Whose design is {o}?
        ~Whose work is {o}?
        ~Who came up with {o}?""", wh="Who", link="""
        the designer of {o}
        the person who designed {o}
        the person who invented {o}
        {p} designer
        the one who invented {o}
        the person who came up with the idea for {o}
        the inventor of {o}
        the person who created {o}
        ~the one who came up with {o}
        ~the creator of {o}"""),
    attribute("factory", "factory city; place of manufacture; production site", "city", """
        {s} is made in {v}
        {s} is built in {v}
        the factory that makes {o} is in {v}
        {s} is produced in {v}
        {s} comes from a plant in {v}
        {s} is assembled in {v}
        the line that {s} comes off stands in {v}
        workers assemble the parts of {o} in {v}
        a plant in {v} makes {o}
        every piece of {o} rolls out of a plant in {v}
        the maker has {o} built in {v}
        production of {o} takes place in {v}
        ~{s} rolls off the line in {v}
        ~workers in {v} assemble {o}""", """
        Where is {s} made?
        In which city is {s} built?
        Where is {s} produced?
        Where is the factory that makes {o}?
        Where is {s} assembled?
        Where do workers build {o}?
        In which city is {s} made?
        Where does the line for {o} stand?
        Out of which plant does {s} roll: in what city?
        In which town is the plant that makes {o}?
        ~In which city is {s} assembled?
        ~Where does {s} roll off the line?""", changes=True),
    attribute("material", "material; main material", "material", """
        {s} is made of {v}
        {s} is built from {v}
        {v} is used to make {o}
        {s} consists of {v}
        the maker chose {v} for {o}
        the body of {o} was made out of {v}
        {s} has a body of {v}
        {s} is made from {v}
        the material of {o} is {v}
        the parts of {o} are cut out of {v}
        the maker builds {o} from {v}
        ~the body of {o} is {v}
        ~{v} was chosen for the body of {o}""", """
        What is {s} made of?
        Which material is used for {o}?
        From what is {s} built?
        What does {s} consist of?
        What is the material of {o}?
        What is {s} made from?
        Which material was chosen for {o}?
        What material is the body of {o}?
        Of what material does {s} consist?
        Out of what does the maker build {o}?
        ~What is the body of {o} made from?
        ~Out of what material is {s} made?"""),
    attribute("battery", "battery life; running time", "battery", """
        {s} runs for {v} on one charge
        one charge keeps {o} going for {v}
        the battery of {o} lasts {v}
        {s} needs a new charge after {v}
        without a socket nearby, {s} can work for {v}
        when full, the battery of {o} is good for {v}
        the battery lets {o} run for {v}
        {s} works for {v} before it has to be charged
        {s} can do without a socket for {v}
        after {v}, the battery of {o} is empty
        ~{s} keeps going for {v} without a socket
        ~a full battery gives {o} {v}""", """
        How long does the battery of {o} last?
        How long does {s} run on one charge?
        After how long does {s} need a new charge?
        How long is {p} battery life?
        How long can {s} run without a socket?
        How long does {s} work before it has to be charged?
        How many hours does a full battery give {o}?
        When is the battery of {o} empty?
        What is the battery life of {o}?
        ~How long can {s} be used without a socket?
        ~How long does a full battery keep {o} going?""", more="""
        Which has the longer battery life, {a} or {b}?
        Which runs longer on one charge, {a} or {b}?""", less="""
        Which has the shorter battery life, {a} or {b}?"""),
    attribute("code_name", "code name; internal name", "word", """
        {s} is known inside the company as {v}
        {s} was called {v} during development
        {v} was the secret name of {o}
        engineers called {o} {v}
        insiders call {o} {v}
        before the launch, the name of {o} was {v}
        {v} is how insiders know {o}
        the name that insiders use to refer to {o} is {v}
        {s} went under the name {v} before it came out
        {s} has the internal name {v}
        the team that built {o} called it {v}
        ~before its launch, {s} went by {v}
        ~insiders refer to {o} as {v}""", """
        What was {s} called during development?
        Under which name is {s} known inside the company?
        What did engineers call {o}?
        What was the secret name of {o}?
        What do insiders call {o}?
        Which name did {s} have before the launch?
        Under what name did {s} go before it came out?
        By what name do people inside the firm refer to {o}?
        What is the code name of {o}?
        ~What did {s} go by before its launch?
        ~How do insiders refer to {o}?"""),
)  # fmt: skip
