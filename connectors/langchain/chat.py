"""The engine as a LangChain chat model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from functools import partial
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import (
    BaseChatModel,
    LangSmithParams,
    LanguageModelInput,
    ModelProfile,
)
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import BaseModel, ConfigDict

from ragcache.connectors.langchain.calls import answers, answers_async, chunks, chunks_async
from ragcache.connectors.langchain.messages import MarkedPrompt, mark_messages, to_message
from ragcache.connectors.langchain.report import response_metadata, usage_metadata, with_missing
from ragcache.connectors.langchain.settings import EngineSettings
from ragcache.engine import Completion, Preview, Request
from ragcache.errors import UnsupportedError


class ChatRagCache(EngineSettings, BaseChatModel):
    """A diffusion chat model that reuses the documents of its prompts; settings are `EngineSettings`'.

    Any history is accepted as it is: several system messages, a last message of any kind, contents as blocks.
    A text block with an `id` (or `cache_control`) is an affix. Messages carry `usage_metadata` with cache
    details, and in `response_metadata` the model's name, the finish reason and the reuse report.

    `bind_tools` and `with_structured_output` raise `UnsupportedError`: these models call no tools reliably,
    see `profile`.
    """

    model_config = ConfigDict(extra="forbid")  # anew: BaseChatModel's own would win

    @property
    def _llm_type(self) -> str:
        return "ragcache-chat"

    def explain(self, prompt: LanguageModelInput, **options: Any) -> Preview:
        """See `RagCacheLLM.explain`."""
        marked, request = self._request(self._convert_input(prompt).to_messages(), None, options)
        return with_missing(self.engine.get().preview(request), marked.missing)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        """Not done, and said so, rather than tools that are bound and never called: `UnsupportedError`."""
        raise UnsupportedError(
            "ChatRagCache calls no tools: diffusion models do not follow their format reliably. Hand over by "
            "the edges of a graph (ragcache.pipelines.agents), or use another model where tools are needed."
        )

    def with_structured_output(
        self, schema: dict[str, Any] | type, **kwargs: Any
    ) -> Runnable[LanguageModelInput, dict[str, Any] | BaseModel]:
        """As `bind_tools`: `UnsupportedError`."""
        raise UnsupportedError(
            "ChatRagCache promises no structure: a diffusion model's JSON may be broken. Ask for it in the "
            "prompt and check it with a parser: chat | JsonOutputParser() raises where an answer is no JSON."
        )

    def _resolve_model_profile(self) -> ModelProfile | None:
        profile = ModelProfile(
            text_inputs=True, text_outputs=True, image_inputs=False, audio_inputs=False, pdf_inputs=False,
            video_inputs=False, image_outputs=False, audio_outputs=False, video_outputs=False,
            reasoning_output=False, tool_calling=False, structured_output=False,
        )  # fmt: skip
        if (window := self.engine.window) is not None:
            profile["max_input_tokens"] = window
        return profile

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = LangSmithParams(
            ls_provider="ragcache",
            ls_model_name=kwargs.get("model", self.model),
            ls_model_type="chat",
            ls_temperature=kwargs.get("temperature", self.temperature),
            ls_max_tokens=kwargs.get("max_tokens", self.max_tokens),
        )
        if merged := self.merged_stop(stop):
            params["ls_stop"] = merged
        return params

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        marked, request = self._request(messages, stop, kwargs)
        [completion] = answers(self.engine.get(), [request], retries=self.max_retries)
        return _result(completion, marked)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        marked, request = self._request(messages, stop, kwargs)
        [completion] = await answers_async(await self.engine.aget(), [request], retries=self.max_retries)
        return _result(completion, marked)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        marked, request = self._request(messages, stop, kwargs)
        with closing(chunks(self.engine.get(), request, partial(_chunk, marked), run_manager)) as found:
            yield from found

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        marked, request = self._request(messages, stop, kwargs)
        engine = await self.engine.aget()
        async with aclosing(chunks_async(engine, request, partial(_chunk, marked), run_manager)) as found:
            async for chunk in found:
                yield chunk

    def _request(
        self, messages: Sequence[BaseMessage], stop: Sequence[str] | None, options: Mapping[str, Any]
    ) -> tuple[MarkedPrompt, Request]:
        options = {name: value for name, value in options.items() if name != "stream"}  # core's own
        llm = self.with_options(options)
        marked = mark_messages([to_message(message) for message in messages], llm.affixes)
        return marked, llm.request(marked.prompt, stop)


def _result(completion: Completion, marked: MarkedPrompt) -> ChatResult:
    message = AIMessage(
        content=completion.text,
        usage_metadata=usage_metadata(completion),
        response_metadata=response_metadata(completion, marked.missing),
    )
    info = {"finish_reason": completion.finish_reason}
    generation = ChatGeneration(message=message, generation_info=info)
    return ChatResult(generations=[generation], llm_output={"model_name": completion.model})


def _chunk(marked: MarkedPrompt, piece: str | Completion) -> ChatGenerationChunk:
    """A piece of text, or at the end an empty one that carries usage and report."""
    if isinstance(piece, str):
        return ChatGenerationChunk(message=AIMessageChunk(content=piece))
    message = AIMessageChunk(
        content="",
        usage_metadata=usage_metadata(piece),
        response_metadata=response_metadata(piece, marked.missing),
        chunk_position="last",
    )
    return ChatGenerationChunk(message=message, generation_info={"finish_reason": piece.finish_reason})
