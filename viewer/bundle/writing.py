"""Writes a bundle: the pages of the viewer's own application, asked within this process, one file each."""

import asyncio
import json
import secrets
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote

from starlette.types import ASGIApp, Message

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.experiments.attribution.store_report import read_report
from toolablate.traces.errors import InputError
from toolablate.traces.output import make_folder
from toolablate.traces.store import Store
from toolablate.viewer.application import application
from toolablate.viewer.bundle.part import BundlePart, first_addresses, part_of, trials_fitting
from toolablate.viewer.bundle.rewriting import classic, rewritten
from toolablate.viewer.bundle.searching import MOST_CHARS, put_texts
from toolablate.viewer.index import ViewerIndex
from toolablate.viewer.keeping.serving import Explanations, Reader
from toolablate.viewer.keeping.shown_trials import (
    ViewScope,
    attributions_of,
    findings_of,
    read_trials,
    require_scope,
    with_why,
)
from toolablate.viewer.rendering import BundleNote, View

CONTENTS = "toolablate-bundle.json"
"""Names every file of a bundle: a folder with other files is none."""
_STATIC = ("toolablate.reports.html", "toolablate.viewer")
_TOLD_SECONDS = 2.0
_AT_ONCE = 1_000

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class WrittenBundle:
    """`size` is in bytes, of all files; `pages` counts pages and texts."""

    folder: Path
    pages: int
    size: int
    trials: int


def write_bundle(scope: ViewScope, folder: Path, where: tuple[str, ...], reader: Reader, tell: Tell) -> WrittenBundle:
    """Of the part of a store that the filters choose. The folder is made whole before it is at its place. Raises
    InputError for a filter that is none and a folder that holds something else, and StoreError."""
    refuse_folder(folder)
    require_scope(scope)
    make_folder(folder, "--bundle")
    try:
        temporary = tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent)
    except OSError as error:
        raise _unwritable(folder, error) from None
    with temporary as beside:
        tell(f"Reading {scope.store} ...")
        index = _filled(scope, Path(beside) / "index.sqlite")
        part = part_of(index, where, blind=reader.person if reader.blind else "")
        made = Path(beside) / "made"
        made.mkdir()
        try:
            texts = put_texts(made, scope.store, index, part)
            pages = asyncio.run(_walk(_view(scope, index, reader, part, texts), part, made, tell))
            _put_static(made)
            held = sorted(path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file())
            said = {"toolablate": version("toolablate"), "pages": pages, "files": held}
            (made / CONTENTS).write_text(json.dumps(said, indent=0), encoding="utf-8")
            size = sum(path.stat().st_size for path in made.rglob("*") if path.is_file())
            refuse_folder(folder)  # which others may have used meanwhile
            before = Path(beside) / "before"
            if folder.exists():
                folder.rename(before)
            try:
                made.rename(folder)
            except BaseException:
                if before.exists():
                    before.rename(folder)
                raise
        except OSError as error:
            raise _unwritable(folder, error) from None
    return WrittenBundle(folder, pages, size, len(part.trials))


def refuse_folder(folder: Path) -> None:
    """Raises InputError where something is there that would be lost: anything but a bundle, or beside one."""
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or not folder.is_dir():
        raise InputError(f"--bundle: {folder} is no folder", hint="Name a folder that is new or empty.", code="bundle")
    there = {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()
    }
    other = sorted(there - _written_before(folder))
    if other:
        raise InputError(
            f"--bundle: {folder} holds files of no bundle, such as {other[0]}",
            hint="Name a folder that is new, empty, or an earlier bundle with nothing added.",
            code="bundle",
        )


def _written_before(folder: Path) -> set[str]:
    try:
        said = json.loads((folder / CONTENTS).read_text(encoding="utf-8"))
        return {CONTENTS, *said["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _unwritable(folder: Path, error: OSError) -> InputError:
    return InputError(f"--bundle: cannot write {folder}: {error.strerror}", code="unwritable")


def _filled(scope: ViewScope, place: Path) -> ViewerIndex:
    """All tables of one moment, in a file of their own: those that a viewer keeps may change meanwhile."""
    index = ViewerIndex.open(place)
    with Store(scope.store) as store, store.at_one_moment():
        trials = read_trials(store, run=scope.run, scorer=scope.scorer, baseline=scope.baseline)
        conditions = store.conditions_of(trials.summaries)
    named = {"models": trials.models, "conditions": trials.conditions}
    with Store(scope.store) as store:
        index.refresh(store, trials.summaries, baseline=trials.baseline, run=trials.run, **named)
    found = findings_of(trials, conditions)
    if trials.summaries:
        report = read_report(scope.store, run=scope.run, scorer=trials.scorer)
        index.put_attributions(attributions_of(report))
        found = with_why(found, report)
    index.put_findings(found)
    while index.describe(scope.store, trials.summaries, most=_AT_ONCE):
        pass
    return index


def _view(scope: ViewScope, index: ViewerIndex, reader: Reader, part: BundlePart, texts: int) -> View:
    explanations = Explanations(scope)

    def explain(trial: str) -> Explanation | None:
        found = explanations(trial)
        # Commands that a page names have the store in them: where it is here is nobody's business there.
        return None if found is None else replace(found, store=scope.store.name)

    note = BundleNote(
        filters=part.filters,
        questions=len(part.questions),
        trials=len(part.trials),
        fitting=trials_fitting(index, part),
        texts=texts,
        most_chars=MOST_CHARS,
    )
    return View(scope.store, index, secrets.token_urlsafe(32), explain, reader.person, reader.blind, bundle=note)


async def _walk(view: View, part: BundlePart, folder: Path, tell: Tell) -> int:
    """From the first pages on along their links."""
    app, told_at, done = application(view), time.monotonic(), 0
    first = first_addresses(part)
    part.missing.update([each for each in first if (await _asked(app, each, view.token))[0] != 200])
    waiting = deque(each for each in first if each not in part.missing)
    known = set(waiting)
    while waiting:
        address = waiting.popleft()
        _, body = await _asked(app, address, view.token)
        file = part.file(address)

        def leads(href: str, at: str = address) -> str | None:
            held = part.held(href, at)
            if held is None:
                return None
            if held[0] not in known:
                known.add(held[0])
                waiting.append(held[0])
            return part.file(held[0]) + held[1]

        text = body.decode()
        # Without its mark a browser may take a text for one of another encoding.
        text = f"\ufeff{text}" if file.endswith(".txt") else rewritten(text, file, leads)
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="")
        done += 1
        if time.monotonic() - told_at >= _TOLD_SECONDS:
            told_at = time.monotonic()
            tell(f"{done:,} of {done + len(waiting):,} pages that are known so far")
    return done


async def _asked(app: ASGIApp, address: str, token: str) -> tuple[int, bytes]:
    """The status and body of an answer; of what leads elsewhere, that of the page there."""
    path, _, query = address.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), (b"cookie", f"toolablate-80={token}".encode())],
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
    }
    status, parts = 0, list[bytes]()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return status, b"".join(parts)


def _put_static(folder: Path) -> None:
    (folder / "static").mkdir()
    sources = dict(_sources())
    for name, content in sources.items():
        if name.endswith(".js"):
            content = classic(name, lambda each: sources[each].decode()).encode()
        (folder / "static" / name).write_bytes(content)


def _sources() -> Iterator[tuple[str, bytes]]:
    for package in _STATIC:
        for each in files(package).joinpath("static").iterdir():
            yield each.name, each.read_bytes()
