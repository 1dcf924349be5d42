"""LangChain: `ChatRagCache` and `RagCacheLLM` over one `EngineHandle`; documents that keep their names."""

from ragcache.errors import MissingDependencyError

try:
    import langchain_core  # noqa: F401
except ImportError as error:
    raise MissingDependencyError(
        'The LangChain connector needs langchain-core. Run: pip install "langchain-core>=1.0"'
    ) from error

from ragcache.connectors.langchain.approximate import ApproximateRetriever
from ragcache.connectors.langchain.byte_store import AffixByteStore
from ragcache.connectors.langchain.chat import ChatRagCache
from ragcache.connectors.langchain.engine_handle import EngineHandle, EngineSpec
from ragcache.connectors.langchain.llm import RagCacheLLM
from ragcache.connectors.langchain.marks import (
    AffixPromptTemplate,
    MarkedText,
    affix_message,
    stuff_affixes,
)
from ragcache.connectors.langchain.retriever import AffixCallbackHandler, AffixRetriever

__all__ = [
    "AffixByteStore",
    "AffixCallbackHandler",
    "AffixPromptTemplate",
    "AffixRetriever",
    "ApproximateRetriever",
    "ChatRagCache",
    "EngineHandle",
    "EngineSpec",
    "MarkedText",
    "RagCacheLLM",
    "affix_message",
    "stuff_affixes",
]
