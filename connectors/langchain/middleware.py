"""Middleware for `create_agent`: what an agent's calls have in common becomes affixes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from ragcache.connectors.langchain.chat import ChatRagCache
from ragcache.connectors.langchain.marks import affix_message, content_name
from ragcache.errors import ConfigError, InputError, MissingDependencyError, RegistryError

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
except ImportError as error:
    raise MissingDependencyError(
        "RagCacheMiddleware needs langchain. Run: pip install 'ragcache-dllm[agents]'"
    ) from error

log = logging.getLogger(__name__)

_HISTORY = (HumanMessage, AIMessage, ToolMessage)


class RagCacheMiddleware(AgentMiddleware[Any, Any, Any]):
    """Marks the system prompt, and with `history` every earlier turn, of each call of a `ChatRagCache`.

    An agent repeats them in every call: they are encoded once, then read from the store. Affixes are called
    by their content; messages that bring blocks of their own stay as they are, and the last message, which is
    new, is never marked. With `pin_s` the system prompt's pages are kept that many seconds from a call on.
    Calls of other models pass through unchanged. No token of a prompt is changed.
    """

    def __init__(self, *, history: bool = True, pin_s: float | None = None) -> None:
        super().__init__()
        if pin_s is not None and not pin_s > 0:
            raise ConfigError(f"pin_s is {pin_s}; give seconds above 0, or None for no pin")
        self.history, self.pin_s = history, pin_s

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """See `AgentMiddleware`."""
        return handler(self._marked(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """See `AgentMiddleware`."""
        return await handler(await asyncio.to_thread(self._marked, request))  # a pin waits for the disk

    def _marked(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        if not isinstance(request.model, ChatRagCache):
            return request
        changes: dict[str, Any] = {}
        if request.system_message is not None:
            self._pin(request.model, request.system_message)
            changes["system_message"] = affix_message(request.system_message)
        if self.history:
            changes["messages"] = [*map(_mark, request.messages[:-1]), *request.messages[-1:]]
        return request.override(**changes)

    def _pin(self, chat: ChatRagCache, system: SystemMessage) -> None:
        """Named and pinned; a store that cannot is no obstacle."""
        engine, text = chat.engine.get(), system.content
        if self.pin_s is None or engine.registry is None or not isinstance(text, str) or not text.strip():
            return
        try:
            name = engine.registry.register(content_name(text), text, namespace=engine.namespace).name
            engine.registry.pin(name, seconds=self.pin_s, namespace=engine.namespace)
        except (RegistryError, InputError) as error:
            log.warning("the system prompt is not pinned: %s", error)


def _mark(message: BaseMessage) -> BaseMessage:
    return affix_message(message) if isinstance(message, _HISTORY) else message
