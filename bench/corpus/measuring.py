"""Measures one engine in a process of its own: `python -m bench.corpus.measuring ENGINE DOCUMENTS KNOWN FOLDER`."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.corpus.documents import Known
from bench.corpus.engines import ENGINES


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds by the clock and of processors; megabytes of 10^6 bytes; milliseconds of a query with its snippets."""

    build_seconds: float
    build_cpu_seconds: float
    peak_mb: float
    disk_mb: float
    p50_ms: float
    p99_ms: float
    recall: float


def measure(engine: str, documents: Path, known: Sequence[Known], folder: Path) -> Figures:
    folder.mkdir()
    queries = folder.with_suffix(".json")
    queries.write_text(json.dumps([asdict(one) for one in known]), encoding="utf-8")
    command = [sys.executable, "-m", "bench.corpus.measuring", engine, documents, queries, folder]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return Figures(**json.loads(done.stdout))


def _measure(engine: str, documents: Path, known: Sequence[Known], folder: Path) -> Figures:
    began, cpu = time.perf_counter(), time.process_time()
    opened = ENGINES[engine](documents, folder)
    built, built_cpu = time.perf_counter() - began, time.process_time() - cpu
    peak = _peak_bytes()
    disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    times, hits = [], 0
    for one in known:
        began = time.perf_counter()
        found = opened.search(one.query)
        times.append(1e3 * (time.perf_counter() - began))
        hits += one.id in found
    times.sort()
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    return Figures(built, built_cpu, peak / 1e6, disk / 1e6, p50, p99, hits / len(known))


def _peak_bytes() -> int:
    """Of this program: what `getrusage` tells can be that of the process which started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def _main() -> None:
    engine, documents, queries, folder = sys.argv[1:]
    known = [Known(**one) for one in json.loads(Path(queries).read_text(encoding="utf-8"))]
    print(json.dumps(asdict(_measure(engine, Path(documents), known, Path(folder)))))


if __name__ == "__main__":
    _main()
