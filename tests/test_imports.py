"""Layers import downwards only, and third parties stay where they were let in."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIBRARY = ("ragcache", "connectors", "pipelines")
# Lowest first; layers of one row know nothing of each other.
LAYERS = (
    ("byte_count", "closing", "devices", "durable", "errors", "page", "text", "threads"),
    ("prompt", "model", "registry"),
    ("decoding",),
    ("reuse",),
    ("engine",),
    ("evaluation",),
    ("benching",),
    ("connectors",),
    ("pipelines",),
    ("cli",),
)
RANK = {layer: rank for rank, row in enumerate(LAYERS) for layer in row}
# Where a third party may be imported; nowhere else in the library or the training code.
CONFINED = {
    "transformers": ("ragcache/model/upstream.py",),
    "torchao": ("ragcache/model/int8.py",),
    "triton": ("ragcache/model/kernels/triton_kernel.py",),
    "tokenizers": ("ragcache/prompt", "connectors/minilm.py", "training"),
    "diskcache": ("ragcache/registry",),
    "langchain": ("connectors",),
    "langchain_core": ("connectors",),
    "langgraph": ("pipelines/agents",),
    "faiss": ("connectors",),
    "sentence_transformers": ("connectors",),
    "matplotlib": ("ragcache/evaluation/charts.py", "ragcache/evaluation/drawing.py"),
    "fsspec": ("ragcache/registry",),
    "cryptography": ("ragcache/registry/encryption.py",),
    "prometheus_client": ("ragcache/registry/metrics.py",),
    "bs4": ("pipelines/rag/formats.py",),
    "pypdf": ("pipelines/rag/formats.py",),
    "mammoth": ("pipelines/rag/formats.py",),
    "markdownify": ("pipelines/rag/formats.py",),
}
OPTIONAL = {
    "transformers",
    "torchao",
    "sentence_transformers",
    "matplotlib",
    "cryptography",
    "prometheus_client",
    "langgraph",
    "pypdf",
    "mammoth",
    "markdownify",
    "bs4",
}
DEVICE_CODE = "ragcache.model.kernels.triton_kernel"  # needs an optional package when it is imported
HEAVY = ("torch", "transformers", "langchain_core", "faiss")


@dataclass(frozen=True)
class Import:
    """One imported module, and whether importing the file imports it too."""

    module: str
    eager: bool


def files(*folders: str) -> list[Path]:
    """Python files below `folders`, relative to the root, each once: links are not followed."""
    found = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return [
        path.relative_to(ROOT)
        for path in found
        if path.parent.resolve().is_relative_to(ROOT / path.relative_to(ROOT).parts[0])
    ]


def module_name(path: Path) -> str:
    """The dotted name `path` is imported by."""
    parts = [*path.with_suffix("").parts]
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts if parts[0] == "ragcache" else ["ragcache", *parts])


def imports(tree: ast.AST, eager: bool = True) -> Iterator[Import]:
    """All imports of a file, in functions too; of `from a import b` both `a` and `a.b`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, eager) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield Import(module, eager)
            yield from (Import(f"{module}.{alias.name}", eager) for alias in node.names)
        else:
            waits = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
                isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            )
            yield from imports(node, eager and not waits)


@cache
def imports_of(path: Path) -> list[Import]:
    return list(imports(ast.parse((ROOT / path).read_text(encoding="utf-8"))))


def layer(module: str) -> str | None:
    """The layer a module of the library belongs to; None for the package itself and for others."""
    parts = module.replace("ragcache.__main__", "ragcache.cli").split(".")
    return parts[1] if parts[0] == "ragcache" and len(parts) > 1 and parts[1] in RANK else None


@pytest.fixture(scope="module")
def graph() -> dict[Path, list[Import]]:
    return {path: imports_of(path) for path in files(*LIBRARY)}


def test_every_file_belongs_to_a_layer(graph: dict[Path, list[Import]]) -> None:
    homeless = [str(p) for p in graph if p != Path("ragcache/__init__.py") and layer(module_name(p)) is None]
    assert homeless == []
    assert {layer(module_name(path)) for path in graph} - {None} == set(RANK)


def test_layers_import_downwards_only(graph: dict[Path, list[Import]]) -> None:
    wrong = [
        f"{path}: {found.module}"
        for path, all_found in graph.items()
        for found in all_found
        if (own := layer(module_name(path))) and (other := layer(found.module))
        if own != other and RANK[other] >= RANK[own]
    ]
    assert wrong == []


def test_the_library_imports_its_public_names_from_their_homes(graph: dict[Path, list[Import]]) -> None:
    """`from ragcache import Engine` is for users: inside it would hide which layer is meant."""
    wrong = [
        f"{path}: {found.module}"
        for path, all_found in graph.items()
        for found in all_found
        if found.module.startswith("ragcache.") and layer(found.module) is None
        if found.module != "ragcache.__version__"
    ]
    assert wrong == []


def test_imports_are_absolute(graph: dict[Path, list[Import]]) -> None:
    relative = [str(p) for p, all_found in graph.items() if any(i.module.startswith(".") for i in all_found)]
    assert relative == []


def test_no_two_modules_import_each_other(graph: dict[Path, list[Import]]) -> None:
    modules = {module_name(path): path for path in graph}
    edges = {  # a module's own package is always imported before it
        name: {i.module for i in graph[path] if i.module in modules and not name.startswith(f"{i.module}.")}
        for name, path in modules.items()
    }
    list(TopologicalSorter(edges).static_order())  # raises CycleError, which shows the cycle


@pytest.mark.parametrize("package", CONFINED)
def test_third_parties_stay_where_they_were_let_in(package: str) -> None:
    allowed = tuple(Path(place) for place in CONFINED[package])
    astray = [
        str(path)
        for path in files(*LIBRARY, "training")
        if any(found.module.split(".")[0] == package for found in imports_of(path))
        if not any(path.is_relative_to(place) for place in allowed)
    ]
    assert astray == []


def test_optional_packages_are_imported_when_used(graph: dict[Path, list[Import]]) -> None:
    eager = [
        str(path)
        for path, all_found in graph.items()
        if any(found.eager and found.module.split(".")[0] in OPTIONAL for found in all_found)
    ]
    assert eager == []


def test_device_code_is_imported_when_used(graph: dict[Path, list[Import]]) -> None:
    importers = {path for path, all_found in graph.items() if any(i.module == DEVICE_CODE for i in all_found)}
    eager = {path for path in importers if any(i.eager and i.module == DEVICE_CODE for i in imports_of(path))}
    assert importers == {Path("ragcache/model/kernels/triton_segment.py")}
    assert eager == set()


@pytest.mark.parametrize("module", ["ragcache", "ragcache.cli", "ragcache.errors"])
def test_importing_stays_cheap(module: str) -> None:
    code = f"import sys, {module}; print(*sorted(sys.modules.keys() & {set(HEAVY)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []
