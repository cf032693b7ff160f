"""Documents' texts on disk, compressed, and the way from an id or URL to a document's number."""

import threading
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import TracebackType
from typing import Self

from toolablate.tools.corpus.documents import url_key

BLOCKS = "documents.zst"
PLACES = "places.bin"
BLOCK_BYTES = 16_384
"""Documents are compressed together until there are so many bytes; more compress better and take longer to read."""

_LEVEL = 3
_FRAME_HEADER_BYTES = 18
_AT_ONCE = 4
"""Blocks of up to so many times the usual size take less when they are decompressed whole than when they are not."""
_NUMBERS = 4  # of each document: start of its block, offset in it, length of its heading, length of its text


class ShelfWriter:
    def __init__(self, folder: Path) -> None:
        from zstandard import ZstdCompressor

        self._compress = ZstdCompressor(level=_LEVEL).compress
        self._blocks = (folder / BLOCKS).open("wb")
        self._places = (folder / PLACES).open("wb")
        self._numbers = array("Q")
        self._block: list[bytes] = []
        self._start = 0
        self._filled = 0

    def add(self, heading: bytes, text: bytes) -> None:
        self._numbers.extend((self._start, self._filled, len(heading), len(text)))
        self._block += (heading, text)
        self._filled += len(heading) + len(text)
        if self._filled >= BLOCK_BYTES:
            self._flush()

    def _flush(self) -> None:
        self._start += self._blocks.write(self._compress(b"".join(self._block)))
        self._block, self._filled = [], 0
        # Of millions of documents they would be much to keep.
        self._numbers.tofile(self._places)
        del self._numbers[:]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._blocks, self._places:
            self._flush()


class Shelf:
    """Reads documents by number. Several threads may read at once."""

    def __init__(self, folder: Path) -> None:
        self._numbers = mapped_numbers(folder / PLACES)
        self._blocks = mapped(folder / BLOCKS)
        # One for each thread: making it takes longer than its work.
        self._kept = threading.local()

    def __len__(self) -> int:
        return len(self._numbers) // _NUMBERS

    def read(self, number: int, max_bytes: int | None = None) -> tuple[bytes, bytes]:
        """Heading and text; of the text at most so many bytes."""
        start, offset, heading, text = self._numbers[number * _NUMBERS : (number + 1) * _NUMBERS]
        end = offset + heading + (text if max_bytes is None else min(text, max_bytes))
        content = self._block(start, end)
        return content[offset : offset + heading], content[offset + heading : end]

    def _block(self, start: int, size: int) -> bytes:
        """A block, or the first bytes of one that holds a long document."""
        from zstandard import ZstdDecompressor, frame_content_size

        if not hasattr(self._kept, "decompressor"):
            self._kept.decompressor = ZstdDecompressor()
        decompressor: ZstdDecompressor = self._kept.decompressor
        rest = self._blocks[start:]
        if frame_content_size(rest[:_FRAME_HEADER_BYTES]) <= _AT_ONCE * BLOCK_BYTES:
            return decompressor.decompress(rest)
        with decompressor.stream_reader(rest) as reader:
            return reader.read(size)


def mapped(path: Path) -> memoryview:
    """A file of which only what is looked at is read."""
    with path.open("rb") as file:
        return memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))


def mapped_numbers(path: Path) -> Sequence[int]:
    return mapped(path).cast("Q")


# From a document's id or URL to its number.


KEYS = "keys.bin"
NUMBERS = "numbers.bin"
_CHUNK = 8_192

KEYS_PER_DOCUMENT = 2


def document_keys(identity: str, url: str) -> tuple[int, int]:
    """64 bits of digests: documents that share one are told apart by looking at them."""
    return _digest(f"id {identity}"), _digest(f"url {url_key(url)}")


def _digest(key: str) -> int:
    return int.from_bytes(blake2b(key.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def sorted_places(keys: "array[int]") -> "array[int]":
    """Where keys are, in the order of the keys."""
    return array("I", sorted(range(len(keys)), key=keys.__getitem__))


def write_addresses(folder: Path, keys: "array[int]", places: "array[int]", documents: "array[int]") -> None:
    """`documents` tells of each number which document it is; `keys` holds those of all, also of ones without number,
    and `places` is what `sorted_places` says of them."""
    numbers = array("q", [-1]) * (len(keys) // KEYS_PER_DOCUMENT)
    for number, document in enumerate(documents):
        numbers[document] = number
    here = (place for place in places if numbers[place // KEYS_PER_DOCUMENT] >= 0)
    with (folder / KEYS).open("wb") as key_file, (folder / NUMBERS).open("wb") as number_file:
        while chunk := tuple(islice(here, _CHUNK)):
            array("Q", (keys[place] for place in chunk)).tofile(key_file)
            array("Q", (numbers[place // KEYS_PER_DOCUMENT] for place in chunk)).tofile(number_file)


class AddressIndex:
    def __init__(self, folder: Path) -> None:
        self._keys = mapped_numbers(folder / KEYS)
        self._documents = mapped_numbers(folder / NUMBERS)

    def find(self, text: str) -> Iterator[int]:
        """Numbers of the documents that may have this as URL or, after those, as id; hardly ever more than one."""
        for key in reversed(document_keys(text, text)):
            place = bisect_left(self._keys, key)
            while place < len(self._keys) and self._keys[place] == key:
                yield self._documents[place]
                place += 1
