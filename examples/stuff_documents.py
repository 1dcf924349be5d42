"""The usual "stuff all documents into the prompt" chain; the documents keep their names, and are reused."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import Runnable, RunnablePassthrough

from ragcache.connectors.langchain import (
    AffixPromptTemplate,
    ChatRagCache,
    EngineHandle,
    EngineSpec,
    stuff_affixes,
)

HANDBOOK = Path(__file__).parent / "handbook"
NAMES = ["product-kavra-kettle.md", "people-ines-calder.md", "place-harbour-house.md"]
TEMPLATE = "{context}\n\nQuestion: {question}"


def stuff_documents_chain(model: ChatRagCache, prompt: PromptTemplate) -> Runnable[Any, AIMessage]:
    """As LangChain's `create_stuff_documents_chain`, with `stuff_affixes` where that joins texts."""
    stuff = RunnablePassthrough.assign(context=lambda inputs: stuff_affixes(inputs["context"]))
    chain: Runnable[Any, AIMessage] = stuff | prompt | model
    return chain


def main(store: Path) -> None:
    documents = [
        Document((HANDBOOK / name).read_text(encoding="utf-8").strip(), metadata={"source": name})
        for name in NAMES
    ]
    with EngineHandle(EngineSpec("nano", store)) as engine:
        prompt = AffixPromptTemplate.from_template(TEMPLATE)
        chain = stuff_documents_chain(ChatRagCache(engine=engine), prompt)
        for question in ("How much does the Kavra kettle cost?", "What is Ines Calder's job?"):
            message = chain.invoke({"context": documents, "question": question})
            print(f"{question}\n  {message.content}")
            for use in message.response_metadata["reuse"]["affixes"]:
                print(f"  {use['status']:5} {use['tokens'] - use['anchors']:4} tokens of {use['name']}")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(Path(folder) / "store")
