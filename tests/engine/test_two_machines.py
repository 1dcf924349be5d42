"""Two machines, each with a store of its own, that share pages through a remote or a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine.asks import RIVER, TOWN, ask_about

from ragcache.engine import Engine, LoadedModel
from ragcache.engine.loaded_model import load_maker
from ragcache.registry import SHARED_NAMESPACE, Registry, Remote


@pytest.fixture(params=["file", "memory"])
def remote(request: pytest.FixtureRequest, store: Path) -> Remote:
    kinds = {"file": f"file://{store.parent}/shared", "memory": f"memory://{store.parent.name}"}
    return Remote(kinds[request.param], timeout_s=30.0, close_s=60.0)


def statuses(model: LoadedModel, registry: Registry, *texts: str, **options: object) -> list[str]:
    """What became of the affixes of one request to an engine of its own."""
    with Engine(model, registry, **options) as engine:  # type: ignore[arg-type]
        (completion,) = engine.generate([ask_about(*texts)])
    return [use.status for use in completion.reuse.affixes]


def test_a_public_page_is_built_once_for_all_machines_and_tenants(
    model: LoadedModel, store: Path, remote: Remote
) -> None:
    def machine(number: int) -> Registry:
        registry = Registry(store.parent / str(number), remote=remote)
        registry.register("doc0", RIVER, namespace=SHARED_NAMESPACE)
        return registry

    with machine(1) as first:
        assert statuses(model, first, RIVER, namespace="a", shared=("doc0",)) == ["built"]
    with machine(2) as second:
        assert statuses(model, second, RIVER, namespace="b", shared=("doc0",)) == ["hit"]
        assert [row.namespace for row in second.pages()] == [SHARED_NAMESPACE]
        assert statuses(model, second, RIVER, namespace="b") == ["built"]  # not asked for as a public one
        stats = second.remote_stats()
        assert stats is not None
        assert stats.hits == 1


def test_a_private_page_reaches_its_tenant_on_other_machines_and_nobody_else(
    model: LoadedModel, store: Path, remote: Remote
) -> None:
    with Registry(store.parent / "1", remote=remote) as first:
        assert statuses(model, first, RIVER, TOWN, namespace="a") == ["built", "built"]
    with Registry(store.parent / "2", remote=remote) as second:
        assert statuses(model, second, RIVER, namespace="b") == ["built"]
        assert statuses(model, second, RIVER, TOWN, namespace="a") == ["hit", "hit"]


def test_a_private_text_of_a_public_name_is_not_shared_over_machines(
    model: LoadedModel, store: Path, remote: Remote
) -> None:
    for number, expected in ((1, "built"), (2, "built")):
        with Registry(store.parent / str(number), remote=remote) as registry:
            registry.register("doc0", RIVER, namespace=SHARED_NAMESPACE)
            namespace = f"tenant{number}"
            assert statuses(model, registry, TOWN, namespace=namespace, shared=("doc0",)) == [expected]


def test_answers_are_those_of_a_machine_alone(model: LoadedModel, store: Path, remote: Remote) -> None:
    answers = []
    for name, options in (("alone", {}), ("1", {"remote": remote}), ("2", {"remote": remote})):
        with Registry(store.parent / name, **options) as registry, Engine(model, registry) as engine:
            answers.append(engine.generate([ask_about(RIVER, TOWN)])[0].token_ids)
    assert len(set(answers)) == 1


def test_an_engine_hits_what_came_as_a_file(model: LoadedModel, checkpoint: Path, store: Path) -> None:
    maker = load_maker(str(checkpoint))
    assert maker.model == model.fingerprint
    file = store.parent / "bundle"
    with Registry(store.parent / "1") as first:
        first.register("river", RIVER)
        with Engine(model, first) as engine:
            engine.warm_names(["river"])
        first.export_affixes(["river"], file, maker)
    with Registry(store.parent / "2") as second:
        second.import_affixes(file, maker)
        assert statuses(model, second, RIVER) == ["hit"]
