"""LangChain's own suites for chat models, with nano.

Suites skip by themselves what a model does not claim (`test_chat` shows how it says so): tools, structured
output, JSON mode, images, PDF and audio, for the model reads and writes text only.
"""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from ragcache.connectors.langchain import ChatRagCache, EngineHandle


class Nano:
    """What both suites are told."""

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatRagCache

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": "nano", "device": "cpu"}

    @property
    def has_tool_calling(self) -> bool:
        """No: `bind_tools` is there only to say so."""
        return False

    @property
    def has_structured_output(self) -> bool:
        """No: `with_structured_output` is there only to say so."""
        return False


class TestUnit(Nano, ChatModelUnitTests):
    """Construction, serialisation, parameters."""

    @property
    def standard_chat_model_params(self) -> dict[str, Any]:
        """Without `api_key`: nothing here has a key, and a field without meaning is refused, not ignored."""
        given = super().standard_chat_model_params
        return {name: value for name, value in given.items() if name != "api_key"}


class TestIntegration(Nano, ChatModelIntegrationTests):
    """Calls, streams, batches, usage, stop strings."""

    @pytest.fixture(autouse=True)
    def _share(self, nano: EngineHandle) -> None:
        self._handle = nano

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"engine": self._handle}

    @property
    def returns_usage_metadata(self) -> bool:
        return True
