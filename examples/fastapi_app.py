"""Answers over HTTP: one engine batches all requests. Serve `create_app(store)` with uvicorn."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastapi import FastAPI, HTTPException
from fastapi.testclient import TestClient
from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from ragcache.connectors.langchain import ChatRagCache, EngineHandle, EngineSpec
from ragcache.errors import InputError

KETTLE = Path(__file__).parent / "handbook" / "product-kavra-kettle.md"


class Question(BaseModel):
    question: str
    documents: dict[str, str]


def create_app(store: Path) -> FastAPI:
    handle = EngineHandle(EngineSpec("nano", store))
    chat = ChatRagCache(engine=handle)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with handle:
            await handle.aget()  # load before the first request
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/ask")
    async def ask(asked: Question) -> dict[str, Any]:
        documents = [{"type": "text", "text": text, "id": name} for name, text in asked.documents.items()]
        question = {"type": "text", "text": f"\n\nQuestion: {asked.question}"}
        try:
            message = await chat.ainvoke([HumanMessage(content=[*documents, question])])
        except InputError as error:
            raise HTTPException(400, str(error)) from error
        return {"answer": message.content, "usage": message.usage_metadata}

    return app


def main(store: Path) -> None:
    body = {"question": "How much is it?", "documents": {KETTLE.name: KETTLE.read_text(encoding="utf-8")}}
    with TestClient(create_app(store)) as client:
        for _ in range(2):
            found = client.post("/ask", json=body).json()
            print(found["answer"], found["usage"]["input_token_details"])


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(Path(folder) / "store")
