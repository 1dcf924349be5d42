"""LangChain's own suite for vector stores."""

from __future__ import annotations

import pytest

from ragcache.connectors.faiss_store import AffixFAISS

suites = pytest.importorskip("langchain_tests.integration_tests")


# The suite mixes plain and async tests; only the latter need the mark.
@pytest.mark.filterwarnings("ignore:.*is marked with '@pytest.mark.asyncio':pytest.PytestWarning")
@pytest.mark.asyncio
class TestAffixFAISS(suites.VectorStoreIntegrationTests):  # type: ignore[misc, name-defined]
    @pytest.fixture
    def vectorstore(self) -> AffixFAISS:
        return AffixFAISS(self.get_embeddings())
