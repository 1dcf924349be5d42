"""LangChain: `ChatRagCache` and `RagCacheLLM`, and the `EngineHandle` that several of them may share."""

from ragcache.errors import MissingDependencyError

try:
    import langchain_core  # noqa: F401
except ImportError as error:
    raise MissingDependencyError(
        'The LangChain connector needs langchain-core. Run: pip install "langchain-core>=1.0"'
    ) from error

from ragcache.connectors.langchain.chat import ChatRagCache
from ragcache.connectors.langchain.engine_handle import EngineHandle, EngineSpec
from ragcache.connectors.langchain.llm import RagCacheLLM

__all__ = ["ChatRagCache", "EngineHandle", "EngineSpec", "RagCacheLLM"]
