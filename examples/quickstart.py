"""The library alone: named documents are encoded once, then reused at any place of any prompt."""

from pathlib import Path
from tempfile import TemporaryDirectory

from ragcache import Affix, Engine, Registry, Request, load
from ragcache.prompt.rag import rag_prompt

HANDBOOK = Path(__file__).parent / "handbook"
NAMES = ["product-kavra-kettle.md", "people-ines-calder.md", "place-harbour-house.md"]
QUESTIONS = ["How much does the Kavra kettle cost?", "What is Ines Calder's job?"]


def main(store: Path) -> None:
    documents = [Affix(name, (HANDBOOK / name).read_text(encoding="utf-8").strip()) for name in NAMES]
    orders = [documents, documents[::-1]]
    with Registry(store) as registry, Engine(load("nano"), registry) as engine:
        for question, ordered in zip(QUESTIONS, orders, strict=True):
            answer = engine.generate([Request(rag_prompt(question, ordered))])[0]
            print(f"{question}\n  {answer.text}")
            for use in answer.reuse.affixes:
                print(f"  {use.status:5} {use.tokens - use.anchors:4} tokens of {use.name}")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(Path(folder) / "store")
