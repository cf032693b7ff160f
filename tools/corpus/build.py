"""Builds what a corpus is searched and read with: index, texts and addresses, in one folder."""

import ctypes
from array import array
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from toolablate.tools.corpus.addresses import write_addresses
from toolablate.tools.corpus.cache import Built
from toolablate.tools.corpus.entries import Entries
from toolablate.tools.corpus.index import IndexWriter
from toolablate.tools.corpus.shelf import ShelfWriter
from toolablate.tools.corpus.source import Source
from toolablate.traces.errors import InputError

VERSION = 1
"""Raise it whenever the same documents would be ranked, split or kept otherwise."""

INDEX_FOLDER = "index"

Progress = Callable[[int, int], None]
"""Is told how many bytes of how many were read; every document is read twice."""


def build(source: Source, folder: Path, progress: Progress | None = None) -> Built:
    """Fills an empty folder.

    Raises InputError for a line that is wrong, an id or URL that is there twice, a source that changes meanwhile, and
    where nothing can be read at all; ToolError where the process that reads files does not start.
    """
    state = source.state()
    entries = Entries.of(source, _counter(2 * source.bytes, progress))
    added = array("I")
    _give_memory_back()
    (folder / INDEX_FOLDER).mkdir()
    index = IndexWriter(folder / INDEX_FOLDER)
    with ShelfWriter(folder) as shelf, closing(entries.in_order_of_ids()) as documents:
        for document in documents:
            heading = document.heading
            index.add(heading.title, document.text, heading.published)
            shelf.add(heading.to_json().encode(), document.text.encode())
            added.append(document.entry)
    if not added:
        first = entries.skipped[0]
        raise InputError(
            f"the corpus {source.path} holds no document that can be read; {first.path}: {first.reason}",
            code="bad_corpus",
        )
    write_addresses(folder, entries.keys, entries.places, added)
    skipped = tuple(entries.skipped)
    # The index needs most memory while it is written.
    del entries, documents
    _give_memory_back()
    index.finish()
    if source.state() != state:
        raise InputError(f"the corpus {source.path} changed while it was read; try again", code="changed_corpus")
    return Built(documents=len(added), skipped=skipped)


def _give_memory_back() -> None:
    """What the main thread has freed, to the threads of the index: glibc would keep it."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def _counter(total: int, progress: Progress | None) -> Callable[[int], None]:
    done = 0

    def count(read: int) -> None:
        nonlocal done
        done += read
        if progress is not None:
            progress(done, total)

    return count
