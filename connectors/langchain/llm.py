"""The engine as a LangChain LLM."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, closing
from functools import partial
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
    Callbacks,
)
from langchain_core.language_models import BaseLLM, LanguageModelInput
from langchain_core.outputs import GenerationChunk, LLMResult
from langchain_core.prompt_values import PromptValue
from langchain_core.rate_limiters import BaseRateLimiter
from langchain_core.runnables import RunnableConfig
from pydantic import ConfigDict, Field

from ragcache.connectors.langchain.calls import (
    answers,
    answers_async,
    chunks,
    chunks_async,
    take_turn,
    take_turn_async,
)
from ragcache.connectors.langchain.messages import MarkedPrompt, keep_roles, mark
from ragcache.connectors.langchain.report import joined, llm_chunk, llm_result, with_missing
from ragcache.connectors.langchain.settings import EngineSettings
from ragcache.engine import Preview, Request

_RUN_OPTIONS = ("tags", "metadata", "run_name", "run_id")


class RagCacheLLM(EngineSettings, BaseLLM):
    """A diffusion LLM that reuses the documents of its prompts; the settings are those of `EngineSettings`.

    A text goes through the chat template as a user message, messages keep their roles; the prompt is never
    echoed. Every generation's `generation_info` tells finish reason, usage and what was reused. Calls may
    come from many threads and from asyncio: the engine batches what is waiting. They take the options
    `CALL_OPTIONS` and `stop`, raise the engine's typed errors, and refuse anything else.
    """

    model_config = ConfigDict(extra="forbid")  # anew: BaseLLM's own would win

    rate_limiter: BaseRateLimiter | None = Field(default=None, exclude=True)
    """Asked once for every prompt that no response cache answers, as chat models ask theirs."""

    @property
    def _llm_type(self) -> str:
        return "ragcache"

    def generate_prompt(
        self,
        prompts: list[PromptValue],
        stop: list[str] | None = None,
        callbacks: Callbacks | list[Callbacks] | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """See `BaseLLM`; messages keep their roles."""
        return super().generate_prompt([keep_roles(p) for p in prompts], stop, callbacks, **kwargs)

    async def agenerate_prompt(
        self,
        prompts: list[PromptValue],
        stop: list[str] | None = None,
        callbacks: Callbacks | list[Callbacks] | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """See `generate_prompt`."""
        return await super().agenerate_prompt([keep_roles(p) for p in prompts], stop, callbacks, **kwargs)

    def generate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        callbacks: Callbacks | list[Callbacks] | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """See `BaseLLM`; a copy with this call's options answers, for the cache key holds no options."""
        run = {name: kwargs.pop(name) for name in _RUN_OPTIONS if name in kwargs}
        llm = self.with_options(kwargs)
        return super(RagCacheLLM, llm).generate(prompts, llm.merged_stop(stop), callbacks, **run)

    async def agenerate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        callbacks: Callbacks | list[Callbacks] | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """See `generate`."""
        run = {name: kwargs.pop(name) for name in _RUN_OPTIONS if name in kwargs}
        llm = self.with_options(kwargs)
        return await super(RagCacheLLM, llm).agenerate(prompts, llm.merged_stop(stop), callbacks, **run)

    def batch(
        self,
        inputs: list[LanguageModelInput],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[str]:
        """Answers in order. With `return_exceptions` a prompt that fails leaves the others alone."""
        # BaseLLM's own batch is one call, which has one outcome; Runnable's makes one call per input.
        batch = super(BaseLLM, self).batch if return_exceptions else super().batch
        return batch(inputs, config, return_exceptions=return_exceptions, **kwargs)

    async def abatch(
        self,
        inputs: list[LanguageModelInput],
        config: RunnableConfig | list[RunnableConfig] | None = None,
        *,
        return_exceptions: bool = False,
        **kwargs: Any,
    ) -> list[str]:
        """See `batch`."""
        abatch = super(BaseLLM, self).abatch if return_exceptions else super().abatch
        return await abatch(inputs, config, return_exceptions=return_exceptions, **kwargs)

    def explain(self, prompt: LanguageModelInput, **options: Any) -> Preview:
        """What `invoke` with these options would reuse now, section by section; nothing is computed.

        Print it, or look at its `sections`. Raises what `invoke` raises, except for a prompt that is too
        long: the preview then says by how much.
        """
        (marked,), (request,) = self._requests([self._convert_input(prompt).to_string()], None, options)
        return with_missing(self.engine.get().preview(request), marked.missing)

    def _convert_input(self, model_input: LanguageModelInput) -> PromptValue:
        return keep_roles(super()._convert_input(model_input))

    def _generate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        if self.streaming and len(prompts) == 1:
            return joined(list(self._stream(prompts[0], stop, run_manager, **kwargs)))
        marked, requests = self._requests(prompts, stop, kwargs)
        take_turn(self.rate_limiter, len(requests))
        return llm_result(
            answers(self.engine.get(), requests, retries=self.max_retries), [m.missing for m in marked]
        )

    async def _agenerate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        if self.streaming and len(prompts) == 1:
            return joined([chunk async for chunk in self._astream(prompts[0], stop, run_manager, **kwargs)])
        marked, requests = self._requests(prompts, stop, kwargs)
        await take_turn_async(self.rate_limiter, len(requests))
        engine = await self.engine.aget()
        return llm_result(
            await answers_async(engine, requests, retries=self.max_retries), [m.missing for m in marked]
        )

    def _stream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[GenerationChunk]:
        (marked,), (request,) = self._requests([prompt], stop, kwargs)
        take_turn(self.rate_limiter, 1)
        with closing(
            chunks(self.engine.get(), request, partial(llm_chunk, marked.missing), run_manager)
        ) as found:
            yield from found

    async def _astream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[GenerationChunk]:
        (marked,), (request,) = self._requests([prompt], stop, kwargs)
        await take_turn_async(self.rate_limiter, 1)
        engine = await self.engine.aget()
        async with aclosing(
            chunks_async(engine, request, partial(llm_chunk, marked.missing), run_manager)
        ) as found:
            async for chunk in found:
                yield chunk

    def _requests(
        self, prompts: Sequence[str], stop: Sequence[str] | None, options: dict[str, Any]
    ) -> tuple[list[MarkedPrompt], list[Request]]:
        llm = self.with_options(options)
        marked = [mark(prompt, llm.affixes) for prompt in prompts]
        return marked, [llm.request(m.prompt, stop) for m in marked]
