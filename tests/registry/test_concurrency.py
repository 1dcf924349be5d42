from __future__ import annotations

import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ragcache.registry import Registry

BUILDER = """
import sys, time, torch
from pathlib import Path
from ragcache.page import Page
from ragcache.registry import AffixKey, Registry
path, ready = Path(sys.argv[1]), Path(sys.argv[2])
key = AffixKey("nano", "words", "float32", "theta=10000", (0, 1, 2, 3))
ready.touch()
while len(list(ready.parent.iterdir())) < 2:
    time.sleep(0.01)
with Registry(path) as registry:
    with registry.building(key):
        page = registry.get(key, count=False)
        if page is None:
            time.sleep(0.3)
            tensor = torch.ones(2, 4, 8)
            page = registry.put(key, Page(torch.arange(4), (tensor,), (tensor,)))
            print("encoded")
    assert registry.get(key).keys[0].sum() == 64
assert "transformers" not in sys.modules, "importing the registry must stay cheap"
"""


def test_two_processes_encode_a_page_once_even_in_a_new_store(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    ready.mkdir()
    command = [sys.executable, "-c", BUILDER, str(tmp_path / "store")]
    started = [
        subprocess.Popen([*command, str(ready / name)], stdout=subprocess.PIPE, text=True) for name in "ab"
    ]
    outputs = [process.communicate(timeout=60)[0] for process in started]
    assert sorted(outputs) == ["", "encoded\n"]
    assert [process.returncode for process in started] == [0, 0]
    assert list((tmp_path / "store" / "building").iterdir()) == []


def test_threads_build_a_key_once_and_others_do_not_wait(registry: Registry, make_key, make_page) -> None:
    key, other = make_key(), make_key(10)
    encoded: list[int] = []
    inside = threading.Event()

    def build(number: int) -> None:
        with registry.building(key):
            inside.set()
            if registry.get(key, count=False) is None:
                encoded.append(number)
                with registry.building(other):
                    registry.put(key, make_page(key))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(build, range(4)))
    assert len(encoded) == 1
    assert inside.is_set()


def test_failed_builder_lets_the_next_one_in(registry: Registry, make_key) -> None:
    with pytest.raises(RuntimeError, match="encoder"), registry.building(make_key()):
        raise RuntimeError("encoder")
    with registry.building(make_key()):
        assert registry.get(make_key()) is None


def test_random_work_of_four_threads_on_two_registries_keeps_the_limit(
    path: Path, make_key, make_page
) -> None:
    keys = [make_key(first, tokens=4 + first % 3) for first in range(0, 80, 10)]
    pages = {key: make_page(key) for key in keys}
    limit_bytes = 20_000
    wrong: list[str] = []

    def work(registry: Registry, seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(30):
            key = chance.choice(keys)
            match chance.randrange(4):
                case 0:
                    registry.put(key, pages[key])
                case 1:
                    registry.register(f"name{chance.randrange(3)}", "text")
                case 2 if any(record.name == "name0" for record in registry.names()):
                    registry.verify()
                case _:
                    page = registry.get(key)
                    if page is not None and not bool((page.keys[0] == pages[key].keys[0]).all()):
                        wrong.append("another page")
            if registry.stats().size_bytes > limit_bytes:
                wrong.append("over the limit")

    with (
        Registry(path, limit_bytes=limit_bytes, memory_bytes=0) as one,
        Registry(path, limit_bytes=limit_bytes) as two,
        ThreadPoolExecutor(4) as pool,
    ):
        for future in [pool.submit(work, registry, seed) for seed, registry in enumerate([one, two] * 2)]:
            future.result()
        files = sum(file.stat().st_size for file in (path / "pages").iterdir())
        assert wrong == []
        assert one.stats().evicted + two.stats().evicted > 0
        assert files == one.stats().size_bytes <= limit_bytes
        assert one.stats().quarantined + two.stats().quarantined == 0
        assert one.verify().messages == ()
