"""python -m bench.corpus, from the project's root: a corpus of one's own beside SQLite FTS5 and plain Python.

The aims: 200,000 documents of 300 words in at most 25 s and 250 MB, p99 of the first ten at most 5 ms; in Chinese, what
is known to be there is among the first ten in at least 95 of 100 cases.
"""

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.corpus.documents import Known, spans, write_chinese, write_documents
from bench.corpus.measuring import Figures, measure
from rich.console import Console
from rich.table import Table

CHINESE = Path(os.environ.get("TOOLABLATE_DATA", "../shared/data")) / "lfqa_e_zh.json"
COLUMNS = ("build s", "cpu s", "peak MB", "disk MB", "p50 ms", "p99 ms", "found")
_WIDTH = 120


def main() -> None:
    options = _parser().parse_args()
    console = Console(width=_WIDTH)
    with tempfile.TemporaryDirectory(prefix="bench-corpus-") as name:
        folder = Path(name)
        documents = folder / "documents.jsonl"
        write_documents(documents, options.documents)
        known = spans(documents, options.queries)
        _compare(console, f"{options.documents:,} documents of 300 words", documents, known, ("fts5",))
        subset = folder / "subset.jsonl"
        write_documents(subset, min(options.subset, options.documents))
        known = spans(subset, options.queries)
        title = f"{min(options.subset, options.documents):,} of them"
        _compare(console, title, subset, known, ("fts5", "plain python"))
        if CHINESE.exists():
            chinese = folder / "chinese.jsonl"
            known = write_chinese(CHINESE, chinese)
            _compare(console, "Chinese, 6 to 12 characters", chinese, known, ("fts5", "fts5 trigram"))
        else:
            console.print(f"no Chinese: {CHINESE} is not here (set TOOLABLATE_DATA to its folder)")


def _compare(console: Console, title: str, documents: Path, known: Sequence[Known], others: Sequence[str]) -> None:
    table = Table("", *COLUMNS, title=title)
    ours = _measured("ours", documents, known)
    _row(table, "ours", ours)
    for other in others:
        theirs = _measured(other, documents, known)
        _row(table, other, theirs)
        pairs = zip(_values(theirs), _values(ours), strict=True)
        table.add_row(f"{other} / ours", *(f"{their / our:.2f}" if our else "-" for their, our in pairs), style="dim")
    console.print(table)


def _measured(engine: str, documents: Path, known: Sequence[Known]) -> Figures:
    return measure(engine, documents, known, documents.with_name(f"{documents.stem}-{engine.replace(' ', '-')}"))


def _row(table: Table, name: str, figures: Figures) -> None:
    *numbers, found = _values(figures)
    table.add_row(name, *(f"{number:.2f}" if number < 10 else f"{number:.0f}" for number in numbers), f"{found:.3f}")


def _values(figures: Figures) -> tuple[float, ...]:
    return (
        figures.build_seconds,
        figures.build_cpu_seconds,
        figures.peak_mb,
        figures.disk_mb,
        figures.p50_ms,
        figures.p99_ms,
        figures.recall,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.corpus", description=(__doc__ or "").split("\n\n")[1])
    add = parser.add_argument
    add("--documents", type=int, default=200_000, help="%(default)s")
    add("--subset", type=int, default=20_000, help="for plain Python, which would need gigabytes for all (%(default)s)")
    add("--queries", type=int, default=200, help="%(default)s")
    return parser


if __name__ == "__main__":
    main()
