"""A planner, two specialists and a writer on LangGraph; what they have in common is encoded once."""

from pathlib import Path
from tempfile import TemporaryDirectory

from ragcache.connectors.langchain import ChatRagCache, EngineHandle, EngineSpec
from ragcache.pipelines.agents import Agent, Team
from ragcache.prompt import Affix

HANDBOOK = Path(__file__).parent / "handbook"
NAMES = ["product-kavra-kettle.md", "people-ines-calder.md", "place-harbour-house.md"]
SYSTEM = Affix(
    "house rules",
    "You work for a maker of kettles, lamps and radios, and help its staff with questions about the "
    "house, its people, its products and its rules. Everything you need stands in the documents of the "
    "handbook. Use nothing else, and never guess: where the documents are silent, say so. Give names, "
    "places, numbers and dates as the documents spell them. Be brief, be exact, and be kind. What one "
    "colleague has found, the others need not look up again: read the notes first. Prices are in "
    "crowns.",
)
SPECIALISTS = [
    Agent("clerk", "Find names, places and dates in the documents."),
    Agent("accountant", "Find prices and other numbers in the documents."),
]
QUESTIONS = ["How much does the Kavra kettle cost?", "What is Ines Calder's job?"]


def main(store: Path) -> None:
    documents = [Affix(name, (HANDBOOK / name).read_text(encoding="utf-8").strip()) for name in NAMES]
    with EngineHandle(EngineSpec("nano", store)) as engine:
        team = Team(ChatRagCache(engine=engine), documents, system=SYSTEM, specialists=SPECIALISTS)
        for question in QUESTIONS:
            outcome = team.ask(question)
            print(f"{question}\n  {outcome.answer}")
            for call in outcome.calls:
                share = call.shared_hit_tokens / call.shared_tokens
                reused = f"{call.reused:4} of {call.prompt_tokens} tokens reused"
                print(f"  {call.agent:10} {reused}, {share:.0%} of the house rules")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(Path(folder) / "store")
