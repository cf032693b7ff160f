"""The texts of a bundle as scripts, which a page may load from a file: it may not fetch."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from toolablate.analysis.event_texts import texts_of
from toolablate.traces.store import Outlines, Store
from toolablate.traces.terminal_text import one_line
from toolablate.viewer.bundle.part import BundlePart
from toolablate.viewer.index import ViewerIndex
from toolablate.viewer.selection import ENDINGS, question_address, trial_address

MOST_CHARS = 200_000
"""Of one trial: of what is longer the beginning is searched."""
_FILE_CHARS = 2_000_000
_AT_ONCE = 200

Entry = list[Any]
"""The file of a page, what it is, how it ended, and its texts: each the number of an event, or null, and the text."""


def put_texts(folder: Path, store: Path, index: ViewerIndex, part: BundlePart) -> int:
    """Into `search/N.js` of a folder, from 0. Gives how many there are."""
    (folder / "search").mkdir()
    number, waiting, size = 0, list[str](), 0

    def put() -> None:
        text = f"(self.toolablate ||= []).push(\n{','.join(waiting)}\n);\n"
        (folder / "search" / f"{number}.js").write_text(text, encoding="utf-8")

    for entry in _entries(store, index, part):
        # Line separators end a line of a script that is older than ES2019; surrogates alone are no text.
        text = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode(errors="replace").decode()
        waiting.append(text)
        size += len(text)
        if size >= _FILE_CHARS:
            put()
            number, waiting, size = number + 1, [], 0
    if waiting:
        put()
        number += 1
    return number


def _entries(store: Path, index: ViewerIndex, part: BundlePart) -> Iterator[Entry]:
    named = dict[str, str]()
    with Store(store) as opened:
        for question in sorted(part.questions):
            row = index.question(question)
            named[question] = row.name
            asked = "\n".join((opened.question(question).prompt, *opened.question(question).choices))
            file = part.file(question_address(question) + part.query)
            yield [file, one_line(row.name, max_chars=120), "", [[None, asked[:MOST_CHARS]]]]
    trials = sorted(part.trials)
    with Outlines(store) as outlines:
        for start in range(0, len(trials), _AT_ONCE):
            for trial, events in outlines.events(trials[start : start + _AT_ONCE]):
                tried = index.trial(trial)
                told = " · ".join(
                    one_line(each, max_chars=80)
                    for each in (named[tried.question], tried.condition, tried.model, trial[:10])
                )
                texts = list(_cut([each.event, each.text] for each in texts_of(events)))
                yield [part.file(trial_address(trial) + part.query), told, ENDINGS[tried.ending], texts]


def _cut(texts: Iterator[list[Any]] | Collection[list[Any]]) -> Iterator[list[Any]]:
    left = MOST_CHARS
    for number, text in texts:
        if left <= 0:
            return
        yield [number, text[:left]]
        left -= len(text)
