"""What is told of an archive: for people in words, for scripts as JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click
from pydantic import TypeAdapter

from toolablate.traces.plain import plain_text

if TYPE_CHECKING:
    from toolablate.tools.archive import Info, Seal, Verification

KINDS = {
    "exchange": "HTTP exchanges",
    "search": "searches",
    "extraction": "records on texts of pages",
    "failure": "requests without a reply",
    "mcp": "calls of tools of MCP servers",
    "mcp_tools": "lists of tools of MCP servers",
    "raw": "replies of search services as they came",
}
FAILURES = {
    "exchange": "replies of servers that failed, such as HTTP 503",
    "search": "searches that failed",
    "extraction": "records on texts that could not be read in time",
    "failure": "pages that could not be fetched",
}
CHECKS = {
    "structure": "indexes",
    "entries": "searches, texts and other entries",
    "exchanges": "HTTP exchanges",
    "files": "WARC files",
}
MAX_HOSTS = 20


def print_json(record: object) -> None:
    facts = TypeAdapter(type(record)).dump_python(record, mode="json")
    click.echo(json.dumps(facts, indent=2, ensure_ascii=False))


def print_info(found: "Info") -> None:
    _print(_info(found))


def print_seal(path: str, sealed: "Seal", *, already: bool) -> None:
    _print([f"{path} was sealed already" if already else f"{path} is sealed", *_seal(sealed)])
    _print(_counted(sealed.counts, KINDS))


def print_verification(report: "Verification") -> None:
    if report.root:
        _print([f"root digest: {report.root}"])
    _print(["found whole:", *_counted(report.checked, CHECKS)])
    if report.notes:
        _print(["left by a recording that was cut short, and no damage:"])
        _print(f"  {note.where}: {note.what}" for note in report.notes)
    if report.problems:
        _print(["damaged:", *(f"  {problem.where}: {problem.what}" for problem in report.problems)])
    click.echo("This archive is damaged." if report.problems else "Nothing is damaged.")


def _print(lines: Sequence[str] | Iterator[str]) -> None:
    for line in lines:
        click.echo(plain_text(line))


def _info(found: "Info") -> Iterator[str]:
    yield f"archive: {found.path}"
    yield f"begun: {found.created_at:%Y-%m-%d %H:%M:%S} UTC"
    if found.base:
        yield f"lies over: {found.base.path} (root digest {found.base.root}), whose content is not counted here"
    if found.sealed:
        yield from _seal(found.sealed)
    else:
        yield f"not sealed: it can still grow; toolablate web seal {found.path} closes it, for replays"
    yield "holds:" if any(found.counts.values()) else "holds nothing yet"
    yield from _counted(found.counts, KINDS)
    if any(found.failures.values()):
        yield "of these failed:"
        yield from _counted(found.failures, FAILURES)
    if found.hosts:
        yield "HTTP exchanges by host:"
        yield from (f"  {host}: {count:,}" for host, count in list(found.hosts.items())[:MAX_HOSTS])
    if len(found.hosts) > MAX_HOSTS:
        yield f"  and {len(found.hosts) - MAX_HOSTS:,} hosts more (see --json)"
    if found.first and found.last:
        yield f"captured: {found.first:%Y-%m-%d %H:%M:%S} to {found.last:%Y-%m-%d %H:%M:%S} UTC"
    yield f"on the disk: {found.size:,} bytes"


def _seal(sealed: "Seal") -> list[str]:
    return [f"sealed: {sealed.sealed_at:%Y-%m-%d %H:%M:%S} UTC", f"root digest: {sealed.root}"]


def _counted(counts: Mapping[str, int], words: Mapping[str, str]) -> list[str]:
    return [f"  {words.get(kind, kind)}: {count:,}" for kind, count in counts.items() if count]
