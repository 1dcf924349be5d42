"""Attributes of products: how they are sold."""

from __future__ import annotations

from ragcache.evaluation.generators.schema import attribute

ATTRIBUTES = (
    attribute("price", "price; list price; retail price", "amount", """
        {s} costs {v}
        {s} sells for {v}
        {s} is sold at {v}
        customers pay {v} for {o}
        {s} can be bought for {v}
        the owner of {o} has paid {v}
        buyers have to hand over {v} for {o}
        {v} goes on the bill for {o}
        anyone who wants to own {o} needs {v}
        the shop asks {v} for {o}
        {s} has a price of {v}
        one can own {o} for {v}
        the price tag of {o} shows {v}
        ~{s} goes for {v}
        ~one has to pay {v} to own {o}""", """
        How much does {s} cost?
        How much is {o}?
        What does {s} cost?
        For how much is {s} sold?
        What is the price of {o}?
        At what price is {s} sold?
        How much do customers pay for {o}?
        What does one pay to own {o}?
        For what sum does {s} go on sale?
        How much money do I need to buy {o}?
        For how much can {s} be bought?
        ~How much does one have to pay for {o}?
        ~What does {s} sell for?""", changes=True, more="""
        Which costs more, {a} or {b}?
        Which is more expensive, {a} or {b}?""", less="""
        Which costs less, {a} or {b}?
        Which is cheaper, {a} or {b}?"""),
    attribute("release", "release date; launch date", "date", """
        {s} was released {in} {v}
        {s} came out {in} {v}
        {s} went on sale {in} {v}
        {in} {v}, {s} was launched
        shops began to sell {o} {in} {v}
        the first buyers were reached by {o} {in} {v}
        the launch of {o} was {in} {v}
        {s} has been on sale since {v}
        {s} began to sell {in} {v}
        {in} {v}, the maker released {o}
        {s} could be bought for the first time {in} {v}
        ~{s} reached the shops {in} {v}
        ~sales of {o} began {in} {v}""", """
        When was {s} released?
        When did {s} come out?
        When did {s} go on sale?
        On what date was {s} launched?
        When was {s} launched?
        When did shops begin to sell {o}?
        Since when has {s} been on sale?
        On which date was {s} released?
        When was the launch of {o}?
        When were the first buyers reached by {o}?
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
        the warranty of {o} protects the buyer for {v}
        {s} comes with a warranty of {v}
        {s} is under warranty for {v}
        the maker puts defects of {o} right during the first {v}
        a defect in {o} is covered for {v}
        {s} has a guarantee of {v}
        after {v}, the warranty of {o} ends
        ~buyers of {o} are protected for {v}
        ~defects of {o} are repaired for {v}""", """
        How long is the warranty of {o}?
        For how long is {s} guaranteed?
        How long is {s} covered?
        How long is {p} warranty?
        How long does the warranty of {o} last?
        How long is a buyer of {o} covered against defects?
        What warranty does {s} come with?
        For how long does the maker repair {o} free of charge?
        For how long does the guarantee of {o} protect the buyer?
        ~How long are buyers of {o} protected?
        ~For how long are defects of {o} repaired?""", changes=True),
    attribute("supplier", "supplier; vendor", "company", """
        {s} is supplied by {v}
        {v} supplies {o}
        {v} delivers the parts for {o}
        {s} is bought from {v}
        {v} provides the parts for {o}
        {s} is provided by {v}
        the firm that supplies {o} is {v}
        the shop buys {o} from {v}
        deliveries of {o} come from {v}
        {s} comes to the shop through {v}
        ~the parts of {o} come from {v}
        ~{v} provides {o}""", """
        Who supplies {o}?
        Which company supplies {o}?
        From whom is {s} bought?
        By which firm is {s} supplied?
        Who provides the parts for {o}?
        From which firm does {s} come?
        Where does the shop buy {o}?
        Who delivers {o}?
        From which company do deliveries of {o} come?
        ~Where do the parts of {o} come from?
        ~Which firm provides {o}?""", wh="Who", changes=True),
    attribute("part", "part number; article number; order code", "code", """
        {s} is listed under {v}
        order {o} under {v}
        {s} is number {v} in the catalogue
        {s} carries the code {v}
        a label with {v} sticks to {o}
        the stamp on {o} reads {v}
        {s} is stamped with {v}
        the code on the label of {o} is {v}
        the catalogue has {o} under {v}
        to order {o}, give the number {v}
        {s} has the part number {v}
        ~{v} is stamped on {o}
        ~the label on {o} says {v}""", """
        Under which code is {s} listed?
        Which code does {s} carry?
        Under what number can {s} be ordered?
        What number does {s} have in the catalogue?
        Which code is on the label of {o}?
        With which code is {s} stamped?
        Which number does the label of {o} have?
        Under which code do I order {o}?
        What does the stamp on {o} say?
        What is the part number of {o}?
        ~What code is stamped on {o}?
        ~What does the label on {o} say?"""),
    attribute("colours", "colours; available colours", "colours", """
        {s} is available in {v}
        {s} is offered in {v}
        buyers of {o} can choose between {v}
        {s} can be ordered in {v}
        the colours that exist for {o} are {v}
        {s} can be had in {v}
        shops have {o} in stock in {v}
        {s} comes in the colours {v}
        {s} is sold in {v}
        the maker offers {o} in {v}
        you have the choice between {v} when you buy {o}
        ~the shop stocks {o} in {v}
        ~{s} exists in {v}""", """
        In which colours is {s} available?
        Which colours can {s} be ordered in?
        List the colours of {o}.
        In what colours is {s} offered?
        Which colours exist for {o}?
        In which colours is {s} in stock?
        Which colours can a buyer choose for {o}?
        In which colours is {s} sold?
        Which colours does {s} come in?
        In which colours do shops have {o}?
        ~Which colours of {o} does the shop stock?
        ~Between which colours can buyers of {o} choose?""", wh="Which", plural=True),
)  # fmt: skip
