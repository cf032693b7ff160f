"""python -m bench.extraction [--gold FOLDER], from the project's root."""

import argparse
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles

from ada_url import normalize_url
from bench.extraction.gold import GoldPage, counted, gold_pages, one_blank, total
from rich.console import Console
from rich.table import Table

from toolablate.tools.extraction import ExtractionOptions, extract
from toolablate.tools.extraction.kinds import decode
from toolablate.traces.records import PageText

OWN = Path("tests/tools/extraction/gold")
OURS, PLAIN = "toolablate", "trafilatura, text"
AIM = 0.924
"""Of the 990 pages that trafilatura publishes; our own, written with ours in mind, say nothing of it."""
Way = Callable[[bytes, str], str]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.extraction", description=__doc__)
    add = parser.add_argument
    add(
        "--gold", type=Path, help=f"a folder in the layout of trafilatura's tests, for the aim of {AIM} (our own pages)"
    )
    add("--rounds", type=int, default=1, help="how often each page is read (%(default)s)")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    folder = options.gold or OWN
    if not (folder / "evaldata.json").is_file():
        print(f"{folder}: no evaldata.json there", file=sys.stderr)
        return 2
    pages = gold_pages(folder)
    table = Table(title=f"{folder}: {len(pages)} pages")
    for column in ("", "F1", "found", "wrong", "missed", "ms a page", "p99", "times ours", "empty"):
        table.add_column(column, justify="left" if not column else "right")
    ours = 0.0
    for name, way in WAYS.items():
        texts, milliseconds = _read(pages, way, options.rounds)
        counts = total([counted(page, text) for page, text in zip(pages, texts, strict=True)])
        mean, p99 = sum(milliseconds) / len(milliseconds), quantiles(milliseconds, n=100)[98]
        ours = ours or mean
        empty = sum(not text.strip() for text in texts)
        figures = (counts.found, counts.wrong, counts.missed, f"{mean:.2f}", f"{p99:.1f}", f"{mean / ours:.2f}", empty)
        table.add_row(name, f"{counts.f1:.4f}", *map(str, figures))
    console = Console(width=110)
    console.print(table)
    return _report(pages, console, AIM if options.gold else None)


def _report(pages: list[GoldPage], console: Console, aim: float | None) -> int:
    read = [(page, _ours(page.file.read_bytes(), page.url)) for page in pages]
    for method in sorted({text.method for _, text in read}):
        of_it = [(page, text) for page, text in read if text.method == method]
        here = total([counted(page, text.text) for page, text in of_it]).f1
        plain = total([counted(page, WAYS[PLAIN](page.file.read_bytes(), page.url)) for page, _ in of_it]).f1
        console.print(f"  read by {method or 'none'}: {len(of_it)} pages, F1 {here:.4f} ({PLAIN}: {plain:.4f})")
    found = total([counted(page, text.text) for page, text in read]).f1
    silent = sum(not text.text and not text.code for _, text in read)
    shown = [
        link_found(text, link)
        for page, text in read
        for link in page.links
        if one_blank(link[0]) in one_blank(text.text)
    ]
    judged = "" if aim is None else f", aim {aim}: {'met' if found >= aim else 'NOT MET'}"
    console.print(f"F1 {found:.4f}{judged}; silent empty pages: {silent}")
    if shown:
        console.print(f"links whose anchors are in the text: {sum(shown)} of {len(shown)} found")
    return 1 if silent or (aim is not None and found < aim) else 0


def link_found(text: PageText, link: tuple[str, str]) -> bool:
    anchor, url = one_blank(link[0]), normalize_url(link[1])
    return any(one_blank(text.text[one.start : one.end]) == anchor and one.url == url for one in text.links)


def _read(pages: list[GoldPage], way: Way, rounds: int) -> tuple[list[str], list[float]]:
    """Texts, and the milliseconds that each reading took."""
    way(pages[0].file.read_bytes(), pages[0].url)
    texts, milliseconds = [], []
    for turn in range(rounds):
        for page in pages:
            body = page.file.read_bytes()
            start = time.perf_counter()
            text = way(body, page.url)
            milliseconds.append(1_000 * (time.perf_counter() - start))
            if turn == 0:
                texts.append(text)
    return texts, milliseconds


def _ours(body: bytes, url: str) -> PageText:
    return extract(body, ExtractionOptions(url=url))


def _trafilatura(output_format: str, links: bool) -> Way:
    def read(body: bytes, url: str) -> str:
        import trafilatura

        text = trafilatura.extract(body, url, output_format=output_format, include_links=links, include_comments=False)
        return text or ""

    return read


def _resiliparse(main_content: bool) -> Way:
    def read(body: bytes, _: str) -> str:
        from resiliparse.extract.html2text import extract_plain_text

        return extract_plain_text(decode(body), preserve_formatting=True, main_content=main_content)

    return read


WAYS: dict[str, Way] = {
    OURS: lambda body, url: _ours(body, url).text,
    PLAIN: _trafilatura("txt", False),
    "trafilatura, text with links": _trafilatura("txt", True),
    "trafilatura, markdown with links": _trafilatura("markdown", True),
    "resiliparse, main content": _resiliparse(True),
    "resiliparse, all text": _resiliparse(False),
}

if __name__ == "__main__":
    raise SystemExit(main())
