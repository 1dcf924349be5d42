"""Another model is another name: python examples/real_checkpoint.py GSAI-ML/LLaDA-8B-Instruct

A folder in LLaDA's format works as well. Pages are kept apart by model, so one store serves both. An 8B model
needs a GPU, and at 512 KiB of store per token small pages pay: `codec="int8"` halves them.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_core.prompts import ChatPromptTemplate

from ragcache.connectors.langchain import ChatRagCache, EngineHandle, EngineSpec

HANDBOOK = Path(__file__).parent / "handbook"
DOCUMENT = HANDBOOK / "product-kavra-kettle.md"
QUESTIONS = ["How much does the Kavra kettle cost?", "What is its warranty?"]


def main(store: Path, model: str = "nano") -> None:
    text = DOCUMENT.read_text(encoding="utf-8").strip()
    with EngineHandle(EngineSpec(model, store, device="auto")) as engine:
        chat = ChatRagCache(engine=engine, codec="int8", affixes={DOCUMENT.name: text}, max_tokens=32)
        prompt = ChatPromptTemplate.from_messages([("user", "{document}\n\nQuestion: {question}")])
        for question in QUESTIONS:
            asked = {"document": text, "question": question}
            print(chat.explain(prompt.invoke(asked)))  # what is there already, before anything is computed
            message = (prompt | chat).invoke(asked)
            print(f"{question}\n  {message.content}")
            for use in message.response_metadata["reuse"]["affixes"]:
                print(f"  {use['status']:5} {use['tokens'] - use['anchors']:4} tokens of {use['name']}")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(Path(folder) / "store", *sys.argv[1:2])
