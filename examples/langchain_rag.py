"""Retrieval in LangChain: documents retrieved before are read from the store, and the chain need not know."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import LLMResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from ragcache.connectors.embeddings import MiniLMEmbeddings
from ragcache.connectors.faiss_store import AffixFAISS
from ragcache.connectors.langchain import AffixCallbackHandler, EngineHandle, RagCacheLLM
from ragcache.engine import Engine, load
from ragcache.prompt.rag import SYSTEM
from ragcache.registry import Registry

HANDBOOK = Path(__file__).parent / "handbook"
QUESTIONS = ["How much does the Kavra kettle cost?", "What is the warranty of the Kavra kettle?"]


class ReusePrinter(BaseCallbackHandler):
    """Prints what became of the documents of every prompt."""

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        info = response.generations[0][0].generation_info or {}
        for use in info["reuse"]["affixes"]:
            print(f"  {use['status']:5} {use['tokens'] - use['anchors']:4} tokens of {use['name']}")


def join(documents: list[Document]) -> str:
    return "\n\n".join(document.page_content for document in documents)


def main(store: Path) -> None:
    texts = {path.name: path.read_text(encoding="utf-8").strip() for path in HANDBOOK.glob("*.md")}
    with Registry(store) as registry, Engine(load("nano"), registry) as engine:
        index = AffixFAISS.from_texts(list(texts.values()), MiniLMEmbeddings(), ids=list(texts))
        turns = [("system", SYSTEM.text), ("user", "{documents}\n\nQuestion: {question}")]
        handle = EngineHandle.of(engine)
        llm = RagCacheLLM(engine=handle, affixes={SYSTEM.name: SYSTEM.text})
        retrieve = index.as_retriever(search_kwargs={"k": 3}) | join
        inputs = {"documents": retrieve, "question": RunnablePassthrough[str]()}
        chain = inputs | ChatPromptTemplate.from_messages(turns) | llm | StrOutputParser()
        # What a retriever returns is registered, and what is registered is found in any prompt.
        callbacks = [AffixCallbackHandler(handle), ReusePrinter()]
        for question in QUESTIONS:
            print(question)
            print(f"  {chain.invoke(question, {'callbacks': callbacks})}")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(Path(folder) / "store")
