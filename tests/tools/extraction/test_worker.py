"""Real processes: what they give back, and what becomes of them when a document is too much for them."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bench_gold import gold_pages

from toolablate.tools.extraction import ExtractionOptions, ExtractionWorker, extract, extractor_identity
from toolablate.traces.errors import ToolError

PAGES = gold_pages(Path(__file__).parent / "gold")
PAGE = b"<html><head><title>T</title></head><body><p>Some words, and <a href='/x'>a link</a>.</p></body></html>"
OPTIONS = ExtractionOptions(url="https://x.example/")
SLOW = b"<html><body><select>" + b"<option>x" * 200_000
"""Takes minutes."""


@pytest.fixture
async def worker() -> AsyncIterator[ExtractionWorker]:
    worker = ExtractionWorker()
    yield worker
    await worker.close()


def children() -> set[int]:
    """Processes that read documents for this one."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and b"extraction.child" in command:
            found.add(int(folder.name))
    return found


@pytest.mark.deep
async def test_it_gives_what_the_function_gives(worker: ExtractionWorker) -> None:
    read = [(page.file.read_bytes(), ExtractionOptions(url=page.url)) for page in PAGES]
    texts = await asyncio.gather(*(worker.extract(body, options) for body, options in read))
    assert list(texts) == [extract(body, options) for body, options in read]


@pytest.mark.deep
async def test_one_process_reads_many_documents_and_knows_no_secrets(
    worker: ExtractionWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "very-secret-value")
    assert children() == set()
    for _ in range(5):
        assert (await worker.extract(PAGE, OPTIONS)).text == "Some words, and a link."
    (child,) = children()
    environment = Path("/proc") / str(child) / "environ"
    assert b"very-secret-value" not in await asyncio.to_thread(environment.read_bytes)


@pytest.mark.deep
async def test_no_more_processes_than_allowed() -> None:
    worker = ExtractionWorker(processes=2)
    await asyncio.gather(*(worker.extract(PAGE, OPTIONS) for _ in range(20)))
    assert 1 <= len(children()) <= 2
    await worker.close()
    assert children() == set()


@pytest.mark.deep
async def test_what_takes_too_long_is_given_up_and_the_next_one_is_read() -> None:
    worker = ExtractionWorker(processes=1, seconds=2.0)
    text = await worker.extract(SLOW, OPTIONS)
    assert (text.code, text.text) == ("timeout", "")
    assert "2 s" in text.reason
    assert (await worker.extract(PAGE, OPTIONS)).text == "Some words, and a link."
    await worker.close()


@pytest.mark.deep
async def test_a_process_that_stands_still_is_given_up_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = ExtractionWorker(processes=1, seconds=20)
    await worker.extract(PAGE, OPTIONS)
    (child,) = children()
    os.kill(child, signal.SIGSTOP)
    monkeypatch.setattr("toolablate.tools.extraction.worker._CLOCK", 0.05)
    assert (await worker.extract(PAGE, OPTIONS)).code == "timeout"
    assert child not in children()
    await worker.close()


@pytest.mark.deep
async def test_a_process_that_is_killed_at_work_has_crashed() -> None:
    worker = ExtractionWorker(processes=1, seconds=20)
    await worker.extract(PAGE, OPTIONS)
    (child,) = children()
    reading = asyncio.create_task(worker.extract(SLOW, OPTIONS))
    await asyncio.sleep(0.5)
    os.kill(child, signal.SIGKILL)
    text = await reading
    assert (text.code, text.text) == ("crashed", "")
    assert text.reason
    assert (await worker.extract(PAGE, OPTIONS)).text
    await worker.close()


@pytest.mark.deep
async def test_a_process_that_died_between_documents_is_replaced(worker: ExtractionWorker) -> None:
    await worker.extract(PAGE, OPTIONS)
    (child,) = children()
    os.kill(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - the loop shall not notice
    assert (await worker.extract(PAGE, OPTIONS)).text


async def test_ctrl_c_in_a_terminal_does_not_reach_it(worker: ExtractionWorker) -> None:
    await worker.extract(PAGE, OPTIONS)
    (child,) = children()
    assert os.getpgid(child) == child


@pytest.mark.deep
async def test_memory_is_bounded() -> None:
    worker = ExtractionWorker(processes=1, memory=200 << 20, seconds=20)
    text = await worker.extract(b"<html><body>" + b"word " * 5_000_000, OPTIONS)
    assert text.code in ("too_large", "crashed", "broken")
    assert (await worker.extract(PAGE, OPTIONS)).text
    await worker.close()


@pytest.mark.deep
async def test_a_task_that_is_cancelled_leaves_no_process_at_work() -> None:
    worker = ExtractionWorker(processes=1, seconds=20)
    await worker.extract(PAGE, OPTIONS)
    before = children()
    reading = asyncio.create_task(worker.extract(SLOW, OPTIONS))
    await asyncio.sleep(0.3)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert children().isdisjoint(before)
    assert (await worker.extract(PAGE, OPTIONS)).text
    await worker.close()


@pytest.mark.deep
async def test_closing_ends_what_is_at_work_and_may_be_done_twice() -> None:
    worker = ExtractionWorker(processes=1, seconds=20)
    await worker.extract(PAGE, OPTIONS)
    reading = asyncio.create_task(worker.extract(SLOW, OPTIONS))
    await asyncio.sleep(0.3)
    await worker.close()
    await worker.close()
    assert (await reading).code == "crashed"
    assert children() == set()


async def test_where_no_process_starts_that_is_an_error_of_the_tool(
    worker: ExtractionWorker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho the disk is full >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(ToolError, match="does not start: the disk is full"):
        await worker.extract(PAGE, OPTIONS)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
    with pytest.raises(ToolError, match="does not start"):
        await worker.extract(PAGE, OPTIONS)


@pytest.mark.deep
def test_the_process_ends_with_the_one_that_started_it() -> None:
    program = """
import asyncio, os
from toolablate.tools.extraction import ExtractionWorker
async def main():
    worker = ExtractionWorker()
    await worker.extract(b"<html><body><p>words</p></body></html>")
    print(next(iter(worker._readers))._process.pid, flush=True)
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""
    ran = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    child = Path("/proc") / ran.stdout.strip()
    deadline = time.monotonic() + 100
    while (child / "cmdline").exists() and (child / "cmdline").read_bytes() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert time.monotonic() < deadline


def test_the_identity_names_all_that_decides_the_text() -> None:
    names = [part.rpartition("-")[0] for part in extractor_identity().split()]
    assert names == ["toolablate", "trafilatura", "resiliparse", "pypdfium2", "lxml", "justext"]
    assert ExtractionWorker().identity == extractor_identity()


@pytest.mark.deep
def test_the_order_of_sets_does_not_decide_the_text() -> None:
    program = (
        "import hashlib, sys, pathlib\n"
        "from toolablate.tools.extraction import extract\n"
        "read = [extract(p.read_bytes()).to_json() for p in sorted(pathlib.Path(sys.argv[1]).glob('*.html'))]\n"
        "print(len(read), hashlib.sha256(''.join(read).encode()).hexdigest())"
    )
    folder = str(Path(__file__).parent / "gold")
    said = {
        subprocess.run(
            [sys.executable, "-c", program, folder],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    assert said.pop().startswith(f"{len(PAGES)} ")
