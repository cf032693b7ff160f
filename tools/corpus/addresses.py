"""From a document's id or URL to its number."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from toolablate.tools.corpus.document import url_key
from toolablate.tools.corpus.shelf import mapped_numbers

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


class Addresses:
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
