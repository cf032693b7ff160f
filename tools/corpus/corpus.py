"""A corpus that is open: searched and read without a network, and without being held in memory."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from pydantic import JsonValue

from toolablate.tools.corpus.addresses import Addresses
from toolablate.tools.corpus.build import INDEX_FOLDER, VERSION, Progress, build
from toolablate.tools.corpus.cache import Kept, default_cache, kept
from toolablate.tools.corpus.document import Heading, url_key
from toolablate.tools.corpus.index import Index
from toolablate.tools.corpus.shelf import Shelf
from toolablate.tools.corpus.source import Source, find_source
from toolablate.tools.extraction import extractor_identity
from toolablate.traces.records import digest_json

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """`complete` tells whether `text` is all of it."""

    heading: Heading
    text: str
    complete: bool


class Corpus:
    """Documents, numbered in the order of their ids. Several threads may ask at once.

    `digest` tells what it holds (see `corpus_digest`); `parameters` whatever else decides what is found in it;
    `skipped` lists files that could not be read.
    """

    def __init__(self, digest: str, parameters: Mapping[str, JsonValue], built: Kept) -> None:
        self.digest = digest
        self.parameters = parameters
        self.skipped = built.manifest.built.skipped
        self.index = Index(built.folder / INDEX_FOLDER)
        self._shelf = Shelf(built.folder)
        self._addresses = Addresses(built.folder)
        self._built = built

    def __len__(self) -> int:
        return self._built.manifest.built.documents

    def document(self, number: int, max_bytes: int | None = None) -> StoredDocument:
        """The document of that number; of its text, in UTF-8, at most so many bytes."""
        heading, text = self._shelf.read(number, max_bytes)
        complete = max_bytes is None or len(text) < max_bytes
        return StoredDocument(Heading.from_json(heading), text.decode("utf-8", "ignore"), complete)

    def at(self, address: str) -> StoredDocument | None:
        """The document at a URL, or with an id; of a URL see `url_key` for what makes no difference."""
        for number in self._addresses.find(address):
            document = self.document(number)
            if document.heading.id == address or url_key(document.heading.url) == url_key(address):
                return document
        return None

    def close(self) -> None:
        """Removes what was built where it could not be kept."""
        if self._built.temporary is not None:
            self._built.temporary.cleanup()


def open_corpus(path: Path, *, cache: Path | None = None, progress: Progress | None = None) -> Corpus:
    """Opens a JSONL file, or a folder of documents; builds its index if `cache` does not have it yet.

    Raises InputError that names the file and line that is wrong.
    """
    source = find_source(path)
    parameters = _parameters(source)
    key = digest_json([source.digest, VERSION, version("tantivy"), sys.byteorder, dict(parameters)])
    attempts = 0
    while True:
        built = kept(key, lambda folder: build(source, folder, progress), cache or default_cache())
        try:
            return Corpus(source.digest, parameters, built)
        except (OSError, ValueError):
            # Another process took it away, because it had found it damaged.
            attempts += 1
            if attempts == _ATTEMPTS:
                raise


def _parameters(source: Source) -> dict[str, JsonValue]:
    common: dict[str, JsonValue] = {"corpus": source.digest[:12], "index": VERSION}
    return common | {"extractor": extractor_identity()} if source.is_extracted else common
