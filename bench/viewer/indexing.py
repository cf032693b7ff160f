"""How long the index takes: the first time, and when a few trials are new."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.store.sources import Sources
from bench.viewer.figure import Figure, Took, figure
from bench.viewer.filling import MORE, add

from toolablate.traces.store import Store
from toolablate.viewer.index import ViewerIndex
from toolablate.viewer.keeping.shown_trials import read_trials


def measure_index(store: Path, place: Path, sources: Sources) -> list[Figure]:
    """All of it in one process, with reading the trials from the store."""
    index = ViewerIndex.open(place)
    with ThreadPoolExecutor(1) as pool:
        tables = pool.submit(_until_filled, index)
        whole = _refresh(index, store)
    add(store, sources, MORE)
    return [
        figure("first refresh, until there are tables", [tables.result()]),
        figure("first refresh, with the tools that were called", [whole]),
        figure(f"refresh after {MORE} more trials", [_refresh(index, store)]),
        figure("refresh with nothing new", [_refresh(index, store)]),
    ]


def _refresh(index: ViewerIndex, path: Path) -> Took:
    began, used = time.perf_counter(), time.process_time()
    with Store(path) as store:
        trials = read_trials(store)
        index.refresh(
            store, trials.summaries, baseline=trials.baseline, models=trials.models, conditions=trials.conditions
        )
    return Took(time.perf_counter() - began, time.process_time() - used)


def _until_filled(index: ViewerIndex) -> Took:
    began = time.perf_counter()
    while not index.filled():
        time.sleep(0.05)
    return Took(time.perf_counter() - began)
