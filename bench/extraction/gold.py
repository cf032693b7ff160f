"""Gold pages in the layout of trafilatura's evaluation, and its measure: are the segments there, and the others not."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_FOLDERS = ("", "cache", "eval")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class GoldPage:
    """`present` shall be in the text, `absent` not; `links`, where given, are anchors and URLs."""

    url: str
    file: Path
    present: tuple[str, ...]
    absent: tuple[str, ...]
    kind: str = ""
    language: str = ""
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Counts:
    """Segments: found as they should be, found though they should not, and missed."""

    found: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def f1(self) -> float:
        """0 where there was nothing to find and nothing found."""
        return 2 * self.found / max(1, 2 * self.found + self.wrong + self.missed)

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.found + other.found, self.wrong + other.wrong, self.missed + other.missed)


def gold_pages(folder: Path) -> list[GoldPage]:
    """Of `evaldata.json` there, with its files beside it or in `cache` or `eval`; those without a file are left out."""
    items = json.loads((folder / "evaldata.json").read_text(encoding="utf-8"))
    pages = []
    for url, item in items.items():
        file = next((path for name in _FOLDERS if (path := folder / name / item["file"]).is_file()), None)
        if file is not None:
            links = tuple((anchor, target) for anchor, target in item.get("links", ()))
            kind, language = item.get("kind", ""), item.get("language", "")
            pages.append(GoldPage(url, file, tuple(item["with"]), tuple(item["without"]), kind, language, links))
    return pages


def one_blank(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def counted(page: GoldPage, text: str) -> Counts:
    """As trafilatura's `tests/eval_common.py` counts: segments are looked for with all blanks as one."""
    shown = one_blank(text)
    found, wrong = (sum(one_blank(part) in shown for part in parts) for parts in (page.present, page.absent))
    return Counts(found, wrong, len(page.present) - found)


def total(counts: Sequence[Counts]) -> Counts:
    return sum(counts, Counts())
