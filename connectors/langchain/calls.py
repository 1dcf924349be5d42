"""Requests under way: whatever a caller no longer waits for is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import aclosing, closing, contextmanager
from itertools import count
from typing import TypeVar

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk
from langchain_core.rate_limiters import BaseRateLimiter

from ragcache.engine import BaseEngine, Completion, Request
from ragcache.errors import EngineBusyError, RagCacheError

Chunk = TypeVar("Chunk", GenerationChunk, ChatGenerationChunk)


@contextmanager
def cancelling() -> Iterator[list[Future[Completion]]]:
    """A list for futures; those not done at the end of the block are cancelled."""
    futures: list[Future[Completion]] = []
    try:
        yield futures
    finally:
        for future in futures:
            future.cancel()


async def submit_async(engine: BaseEngine, request: Request) -> Future[Completion]:
    """Queue `request`, once there is room; the event loop is never blocked."""
    try:
        return engine.submit(request)
    except EngineBusyError:
        return await asyncio.to_thread(engine.submit, request, wait=True)


def take_turn(limiter: BaseRateLimiter | None, calls: int) -> None:
    """Wait until the limiter lets `calls` requests through."""
    if limiter is not None:
        for _ in range(calls):
            limiter.acquire(blocking=True)


async def take_turn_async(limiter: BaseRateLimiter | None, calls: int) -> None:
    """As `take_turn`; the event loop is never blocked."""
    if limiter is not None:
        for _ in range(calls):
            await limiter.aacquire(blocking=True)


def answers(engine: BaseEngine, requests: Sequence[Request], *, retries: int) -> list[Completion]:
    """Answers in order; a forward that raised is tried again with the whole call, up to `retries` times."""
    for attempt in count():
        try:
            with cancelling() as futures:
                for request in requests:
                    futures.append(engine.submit(request, wait=True))
                return [future.result() for future in futures]
        except Exception as error:
            if attempt >= retries or isinstance(error, RagCacheError):  # ours would only be raised again
                raise
    raise AssertionError("unreachable")


async def answers_async(engine: BaseEngine, requests: Sequence[Request], *, retries: int) -> list[Completion]:
    """As `answers`; the event loop is never blocked."""
    for attempt in count():
        try:
            with cancelling() as futures:
                for request in requests:
                    futures.append(await submit_async(engine, request))
                return list(await asyncio.gather(*map(asyncio.wrap_future, futures)))
        except Exception as error:
            if attempt >= retries or isinstance(error, RagCacheError):
                raise
    raise AssertionError("unreachable")


def chunks(
    engine: BaseEngine,
    request: Request,
    to_chunk: Callable[[str | Completion], Chunk],
    run_manager: CallbackManagerForLLMRun | None,
) -> Generator[Chunk]:
    """The answer's pieces as LangChain's chunks, each told to the callbacks before it is handed on."""
    with closing(pieces(engine, request)) as answer:
        for piece in answer:
            chunk = to_chunk(piece)
            if run_manager is not None:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


async def chunks_async(
    engine: BaseEngine,
    request: Request,
    to_chunk: Callable[[str | Completion], Chunk],
    run_manager: AsyncCallbackManagerForLLMRun | None,
) -> AsyncGenerator[Chunk]:
    """As `chunks`; the event loop is never blocked."""
    async with aclosing(pieces_async(engine, request)) as answer:
        async for piece in answer:
            chunk = to_chunk(piece)
            if run_manager is not None:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


def pieces(engine: BaseEngine, request: Request) -> Generator[str | Completion]:
    """The answer in append-only pieces, at last the `Completion`. Closing it early cancels the request."""
    completion = yield from engine.stream(request)
    yield completion


async def pieces_async(engine: BaseEngine, request: Request) -> AsyncGenerator[str | Completion]:
    """As `pieces`; the event loop is never blocked."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[str | None] = asyncio.Queue()

    def put(piece: str | None) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, piece)

    future = engine.submit_pieces(request, put)
    try:
        while (piece := await queue.get()) is not None:
            yield piece
        yield future.result()
    finally:
        future.cancel()
