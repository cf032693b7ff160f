"""The documents' texts, compressed on disk: written once in the order of their numbers, read one at a time."""

import threading
from array import array
from collections.abc import Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import TracebackType
from typing import Self

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
