"""What is installed is what lies in the tree; and nothing in the tree runs code out of data files."""

import ast
import os
import re
import shutil
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LINKED = ("connectors", "pipelines")
CODE = ("ragcache", "connectors", "pipelines", "training", "benchmarks", "examples")
NANO = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "MODEL_CARD.md")
# Each would run code that a data file or a hub repository brings along.
RUNS_FOREIGN_CODE = re.compile(
    r"\bpickle\.loads?\b|\bimport pickle\b|\btorch\.load\(|trust_remote_code\s*=\s*True"
    r"|weights_only\s*=\s*False|allow_dangerous_deserialization\s*=\s*True|\ballow_pickle\s*=\s*True"
)


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def python_files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def package_folders() -> set[str]:
    """Dotted names of all folders with an `__init__.py`, as they will be installed."""
    found = set()
    for top in ("ragcache", *LINKED):
        prefix = "" if top == "ragcache" else "ragcache."
        for init in (ROOT / top).rglob("__init__.py"):
            relative = init.parent.relative_to(ROOT)
            if top != "ragcache" or not (set(relative.parts) & set(LINKED)):
                found.add(prefix + ".".join(relative.parts))
    return found


def test_packages_are_the_folders_of_the_tree(pyproject: dict[str, Any]) -> None:
    listed = pyproject["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted(package_folders())


def test_every_python_file_lies_in_a_package() -> None:
    folders = {path.parent for path in python_files("ragcache", *LINKED)}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("name", LINKED)
def test_linked_folders_resolve_from_any_clone(name: str, pyproject: dict[str, Any]) -> None:
    link = ROOT / "ragcache" / name
    assert os.readlink(link) == f"../{name}"
    assert (link / "__init__.py").samefile(ROOT / name / "__init__.py")
    assert pyproject["tool"]["setuptools"]["package-dir"][f"ragcache.{name}"] == name


@pytest.mark.parametrize("name", NANO)
def test_the_shipped_model_is_packaged(name: str, pyproject: dict[str, Any]) -> None:
    assert (ROOT / "ragcache" / "model" / "nano" / name).stat().st_size > 0
    patterns = pyproject["tool"]["setuptools"]["package-data"]["ragcache.model.nano"]
    assert any(fnmatch(name, pattern) for pattern in patterns)


def test_the_distribution_says_what_it_needs(pyproject: dict[str, Any]) -> None:
    project = pyproject["project"]
    assert project["requires-python"] == ">=3.11"
    assert project["scripts"] == {"ragcache": "ragcache.cli:main"}
    assert (ROOT / "ragcache" / "py.typed").exists()
    assert (ROOT / project["readme"]).read_text(encoding="utf-8").startswith("# ")
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_versions_agree(pyproject: dict[str, Any]) -> None:
    import ragcache

    assert pyproject["project"]["version"] == ragcache.__version__
    assert f"## [{ragcache.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_linked_folders_are_imported_by_their_installed_name() -> None:
    bare = [
        str(path.relative_to(ROOT))
        for path in python_files(*CODE, "tests")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if {name.split(".")[0] for name in _imported(node)} & set(LINKED)
    ]
    assert bare == []


def test_no_data_file_can_run_code() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in python_files(*CODE)
        for match in RUNS_FOREIGN_CODE.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_ci_script_can_be_run() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "set -euo pipefail" in script.read_text(encoding="utf-8")


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="no make here")


@needs_make
@pytest.mark.parametrize("target", ["demo", "test", "lint", "bench", "eval"])
def test_make_installs_torch_first_and_only_once(target: str, tmp_path: Path) -> None:
    first = _planned(target, tmp_path)
    assert first.index("-m venv") < first.index('install "torch==2.13.0"') < first.index("install -e .")
    (tmp_path / "bin").mkdir()
    for name in ("python", ".installed", ".installed-dev"):
        (tmp_path / "bin" / name).touch()
    assert "-m pip" not in _planned(target, tmp_path)


def _planned(target: str, venv: Path) -> str:
    """The commands `make` would run."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--dry-run", target, f"VENV={venv}"]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=env).stdout


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
