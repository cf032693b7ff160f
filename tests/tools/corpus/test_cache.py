"""A built corpus is kept, rebuilt where it is damaged, and built alike by everyone."""

import asyncio
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests.tools.corpus.conftest import Opener, found, written

from toolablate.tools.corpus import open_corpus
from toolablate.tools.corpus.build import Fill, Kept, kept
from toolablate.traces.errors import InputError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    draw = random.Random(5)
    words = [f"w{n}" for n in range(3_000)]
    weights = [1 / (n + 1) for n in range(3_000)]
    texts = (" ".join(draw.choices(words, weights, k=80)) for _ in range(2_000))
    return written(
        tmp_path / "many.jsonl", ({"id": f"{n * 7919 % 2_000}", "text": text} for n, text in enumerate(texts))
    )


def times_built(source: Path, cache: Path) -> int:
    """How often all of the source was read, twice each time it is built."""
    reads: list[int] = []
    open_corpus(source, cache=cache, progress=lambda done, total: reads.append(done / total)).close()
    assert reads == sorted(reads)
    return reads.count(1.0)


def test_it_is_built_once_and_again_when_the_source_changes(source: Path, cache: Path) -> None:
    assert [times_built(source, cache) for _ in range(3)] == [1, 0, 0]
    source.write_text(source.read_text() + '\n{"id": "new", "text": "new"}')
    assert [times_built(source, cache) for _ in range(2)] == [1, 0]
    assert len(list(cache.iterdir())) == 2


def test_every_damaged_file_is_noticed_and_built_again(source: Path, cache: Path) -> None:
    before = asyncio.run(found(open_corpus(source, cache=cache), "w30 w31 w32"))
    (folder,) = cache.iterdir()
    files = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size and path.suffix != ".lock"]
    assert {"documents.zst", "places.bin", "keys.bin", "numbers.bin", "manifest.json", "meta.json"} <= {
        path.name for path in files
    }
    for name in [path.relative_to(folder) for path in files if path.parent == folder] + [Path("index/meta.json")]:
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 0xFF
        (folder / name).write_bytes(content)
        assert times_built(source, cache) == 1, name
    postings = next(path for path in folder.rglob("*.idx"))
    postings.unlink()
    assert asyncio.run(found(open_corpus(source, cache=cache), "w30 w31 w32")) == before
    assert [path.name for path in cache.iterdir()] == [folder.name]


def test_where_nothing_can_be_kept_it_is_built_for_the_moment(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    corpus = open_corpus(source, cache=tmp_path / "file" / "cache")
    assert len(asyncio.run(found(corpus, "w30"))) == 10
    folder = Path(corpus._built.folder)
    assert folder.exists()
    corpus.close()
    assert not folder.exists()


def test_the_cache_lies_where_the_desktop_standard_says(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    open_corpus(source)
    assert len(list((tmp_path / "xdg" / "toolablate" / "corpus").iterdir())) == 1


def test_without_a_home_it_is_built_for_the_moment(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(number: int) -> None:
        raise KeyError(number)

    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    corpus = open_corpus(source)
    folder = Path(corpus._built.folder)
    assert len(asyncio.run(found(corpus, "w30"))) == 10
    corpus.close()
    assert not folder.exists()


def test_what_a_faster_process_built_meanwhile_is_kept(source: Path, cache: Path) -> None:
    built: list[int] = []

    def overtaken(done: int, total: int) -> None:
        if done == total and not built:
            open_corpus(source, cache=cache)
            built.extend(folder.stat().st_ino for folder in cache.iterdir() if not folder.name.startswith("."))

    corpus = open_corpus(source, cache=cache, progress=overtaken)
    assert [folder.stat().st_ino for folder in cache.iterdir()] == built
    assert len(asyncio.run(found(corpus, "w30"))) == 10


def test_what_goes_while_it_is_opened_is_built_again(
    source: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Path] = []

    def taken_away(key: str, fill: Fill, folder: Path | None) -> Kept:
        built = kept(key, fill, folder)
        if not taken:
            taken.append(built.folder.rename(built.folder.with_name(".taken")))
        return built

    monkeypatch.setattr("toolablate.tools.corpus.corpus.kept", taken_away)
    assert len(asyncio.run(found(open_corpus(source, cache=cache), "w30"))) == 10
    assert taken[0].exists()


def test_what_a_killed_process_left_is_swept_away(source: Path, cache: Path) -> None:
    cache.mkdir()
    for name, age in ((".old.abc", 90_000), (".new.abc", 60)):
        (cache / name).mkdir()
        at = (cache / name).stat().st_mtime - age
        os.utime(cache / name, (at, at))
    times_built(source, cache)
    assert [path.name for path in sorted(cache.iterdir()) if path.name.startswith(".")] == [".new.abc"]


def test_a_source_that_changes_meanwhile_is_refused(source: Path, cache: Path) -> None:
    def change(done: int, total: int) -> None:
        if done == total:
            source.write_text(source.read_text() + "\n")

    with pytest.raises(InputError, match="changed while it was read"):
        open_corpus(source, cache=cache, progress=change)
    assert list(cache.iterdir()) == []


async def test_it_opens_inside_a_running_event_loop(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.txt").write_text("zebra")
    assert asyncio.get_running_loop()
    assert len(open_corpus(tmp_path / "notes", cache=cache)) == 1


PROGRAM = """
import asyncio, json, random, sys
from pathlib import Path
from toolablate.tools.corpus import CorpusSearch, open_corpus
from toolablate.tools.search.provider import SearchQuery

corpus = open_corpus(Path(sys.argv[1]), cache=Path(sys.argv[2]))
draw = random.Random(1)
async def all_found():
    for _ in range(150):
        query = " ".join(f"w{int(draw.paretovariate(0.4))}" for _ in range(draw.randint(1, 9)))
        reply = (await CorpusSearch(corpus).search(SearchQuery(query, draw.choice([3, 10, 50])))).reply
        print(json.dumps([query, [[result.url, result.snippet] for result in reply.results]]))
asyncio.run(all_found())
"""


@pytest.mark.deep
@pytest.mark.parametrize("shared", [True, False])
def test_processes_that_build_at_once_rank_identically(source: Path, tmp_path: Path, shared: bool) -> None:
    caches = [tmp_path / "shared" if shared else tmp_path / f"cache{n}" for n in range(3)]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, source, cache],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONHASHSEED": str(n)},
        )
        for n, cache in enumerate(caches)
    ]
    said = [process.communicate(timeout=100)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0]
    assert said[0] == said[1] == said[2]
    assert sum(bool(json.loads(line)[1]) for line in said[0].splitlines()) > 100
    assert all(len(list(cache.iterdir())) == 1 for cache in caches)


async def test_queries_from_many_threads_are_answered_alike(source: Path, opened: Opener) -> None:
    corpus = opened(source)
    queries = [f"w{n} w{n * 7 % 50} w3" for n in range(40)]
    alone = [await found(corpus, query) for query in queries]
    together = await asyncio.gather(
        *(asyncio.to_thread(lambda query=query: asyncio.run(found(corpus, query))) for query in queries)
    )
    assert together == alone
