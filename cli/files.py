"""Commands on files: stores, archives of the web, recorded replies of models."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options
from toolablate.traces.commands import SuggestingGroup
from toolablate.traces.terminal_text import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolablate.agents.replies import RepliesInfo
    from toolablate.tools.archive import Info, Seal, Verification
    from toolablate.traces.store import FailureCount


@click.command("status", epilog=options.example("toolablate status runs/tools.sqlite", "toolablate status web-archive"))
@click.argument("file", type=options.FilePath())
@options.as_json("it")
def status_command(file: Path, as_json: bool) -> None:
    """Show what FILE holds: a store, an archive of the web or recorded replies of models.

    For a store: progress of its trials and the processes that run them, also during a run. The rate is that of the
    processes running now. The time left does not count failed trials, which the next run of their plan repeats. Then
    what all attempts so far took, and why trials failed. `view` shows the same with the traces so far. For an
    archive: pages, searches, hosts, capture times, and whether it is sealed. For recorded replies: counts by model,
    times and the root digest.
    """
    if (kind := _kind(file)) != "store":
        (_show_archive if kind == "archive" else _show_replies)(file, as_json)
        return
    from toolablate.traces.store import standing

    found = standing(file)
    failures = _failures(file) if any(row.failed for row in found.counts) else ()
    if as_json:
        import json
        from dataclasses import asdict

        rates = {"ended_per_minute": found.ended_per_minute, "seconds_left": found.seconds_left}
        told = {**asdict(found), **rates, "failures": list(map(asdict, failures))}
        click.echo(json.dumps(told, indent=2, default=lambda time: time.isoformat()))
        return
    from rich.console import Console

    from toolablate.reports.terminal.status import status_view

    Console().print(status_view(found, failures))


def _failures(store: Path) -> "Sequence[FailureCount]":
    from toolablate.traces.store import Store

    with Store(store) as opened:
        return opened.failures()


@click.command(
    "verify",
    epilog=options.example(
        "toolablate verify runs/replayed.sqlite --same-as runs/recorded.sqlite",
        "toolablate verify web-archive",
    ),
)
@click.argument("file", type=options.FilePath())
@click.option(
    "--same-as",
    "other",
    type=options.FilePath(),
    metavar="STORE",
    help="Compare with the store of the run that this one replays.",
)
@click.option(
    "--partial", is_flag=True, help="With --same-as: a trial that has ended in one store alone is no difference."
)
@options.as_json("the report")
def verify_command(file: Path, other: Path | None, partial: bool, as_json: bool) -> None:
    """Check FILE: a store, an archive of the web or recorded replies of models.

    Checks every record against its digest, and references, indexes and a seal against what they name. Exits with 1 on
    damage, with 2 if FILE is none of these.

    In a store, planned trials that have not finished are no damage. Calls of tools that a model was not offered are
    none either, but cause a warning: they used up the model's turns.

    --same-as also compares the trials that ended in both stores, in all but times, software and retried failures. Each
    trial that differs is listed with its first difference. Exits with 1 if any differs, if a trial ended in one store
    alone, or if no trial is the same.
    """
    import json
    from dataclasses import asdict

    from toolablate.analysis.from_store import read_refused_calls
    from toolablate.traces.store import verify

    if partial and other is None:
        raise click.UsageError("--partial is for --same-as STORE")
    if (kind := _kind(file)) != "store":
        options.refuse_given(("other",), "is for stores")
        (_verify_archive if kind == "archive" else _verify_replies)(file, as_json)
    report = verify(file)
    # A damaged store may have lost what this is counted in.
    refused = read_refused_calls(file) if report.ok else []
    same = None
    if other is not None:
        from toolablate.traces.store.same_as import same_as

        same = same_as(file, other, partial=partial)
    if as_json:
        found = asdict(report) | {"refused_calls": [asdict(row) for row in refused]}
        click.echo(json.dumps(found | ({"same_as": asdict(same) | {"ok": same.ok}} if same else {}), indent=2))
    else:
        from rich.console import Console

        from toolablate.reports.terminal.problems import refused_view, verify_view

        console = Console()
        console.print(verify_view(report))
        if (warning := refused_view(refused)) is not None:
            console.print(warning)
        if same:
            from toolablate.reports.terminal.problems import same_lines

            click.echo("\n".join(same_lines(same)))
    raise SystemExit(0 if report.ok and (same is None or same.ok) else 1)


@click.command(
    "merge", epilog=options.example("toolablate merge runs/site-a.sqlite runs/site-b.sqlite -o runs/both.sqlite")
)
@click.argument("stores", type=options.FilePath(dir_okay=False), nargs=-1, required=True)
@click.option("-o", "--output", type=options.FilePath(dir_okay=False), required=True, help="The new store to write.")
@click.option(
    "--keep",
    type=click.Choice(["first"]),
    help="Of different records of one trial, score or answer key keep that of the first store which has one.",
)
@options.as_json("what was joined")
def merge_command(stores: tuple[Path, ...], output: Path, keep: str | None, as_json: bool) -> None:
    """Join STORES of one plan that ran at several sites into a new one, and verify it.

    Their environments have to agree. A trial that is finished in one store and failed or missing in another is taken
    as finished; the attempts of both are kept. A trial with the same record in several stores is there once. Different
    records of one trial are a conflict, which --keep decides. Scores, diagnoses, labels, replays and runs come along.

    Where each site ran a part, a run of all their trials is added, so that compare and the others show it by default.
    The stores are only read. The output appears when it is whole, and never over a file. Exits with 2 on a conflict.
    """
    import json
    from dataclasses import asdict

    from rich.console import Console

    from toolablate.analysis.from_store import changed_kernels, environments
    from toolablate.experiments.environment.recording import shown_progress
    from toolablate.reports.terminal.problems import differing_models
    from toolablate.traces.store import Store
    from toolablate.traces.store.merging import merge

    if len(stores) < 2:
        raise click.UsageError("Name two stores or more.")
    with shown_progress(Console(stderr=True), "copying trials") as tell:
        report = merge(stores, output, keep_first=keep == "first", tell=tell)
    with Store(output) as joined:
        warnings = list(differing_models(joined.models()))
    if changed := changed_kernels(environments(output)):
        warnings.append(f"Warning: {changed}")
    for warning in warnings:
        click.echo(plain_text(warning), err=True)
    if as_json:
        click.echo(json.dumps(asdict(report), indent=2))
        return
    from toolablate.reports.terminal.problems import merge_lines, verify_view

    for line in merge_lines(report):
        click.echo(plain_text(line))
    Console().print(verify_view(report.checked))


@click.group(name="web", cls=SuggestingGroup)
def web_group() -> None:
    """Archives of the web: recorded once, replayed for every condition."""


@web_group.command(
    "record",
    epilog=options.example(
        "toolablate web record plan.toml https://example.org/a https://example.org/b",
        "toolablate web record plan.toml --queries queries.txt --open 5",
        "toolablate web record plan.toml --over sealed-archive",
    ),
)
@click.argument("plan", type=options.FilePath())
@click.argument("urls", metavar="[URL]...", nargs=-1)
@click.option("--urls", "urls_file", type=options.FilePath(), help="Record also these pages, one URL a line.")
@click.option("--queries", type=options.FilePath(), help="Record searches for these, one query a line.")
@click.option(
    "--max-results",
    type=click.IntRange(1, 50),
    metavar="N",
    default=10,
    show_default=True,
    help="Results to ask for a query: 10, 20 or 50, whichever is enough.",
)
@click.option(
    "--open",
    "opened",
    type=click.IntRange(0, 50),
    metavar="N",
    default=0,
    help="Record the first N results' pages too.",
)
@click.option(
    "--over", "base", type=options.FilePath(), metavar="BASE", help="First begin PLAN's archive over this one."
)
@click.option("--refresh", is_flag=True, help="Capture again what is there; the newest then counts.")
@options.as_json("what came of each")
def record_command(
    plan: Path,
    urls: tuple[str, ...],
    urls_file: Path | None,
    queries: Path | None,
    max_results: int,
    opened: int,
    base: Path | None,
    refresh: bool,
    as_json: bool,
) -> None:
    """Record pages and searches into the archive of PLAN, with the plan's provider and policy, whatever its mode.

    What the archive already holds is not requested again, so the same command resumes after Ctrl-C. Exits with 1 if
    anything could not be recorded, and says why.

    --over begins PLAN's archive as an overlay: it holds what is in BASE, a sealed archive, and what is recorded on top.
    BASE is not changed and must stay in its place. Seal the overlay too before replaying it.
    """
    import json
    from dataclasses import asdict

    from rich.console import Console

    from toolablate.experiments.environment.recording import RecordingRequest, read_list, record, shown_progress
    from toolablate.experiments.plans.plan import load_plan
    from toolablate.traces.commands import STOPPED

    loaded, _ = load_plan(plan)
    if base is not None:
        _begin_over(Path(loaded.web.archive), base)
        if not (urls or urls_file or queries):
            _show_archive(Path(loaded.web.archive), as_json)
            return
    wanted = RecordingRequest(
        urls=[*urls, *(read_list(urls_file, "--urls") if urls_file else ())],
        queries=read_list(queries, "--queries") if queries else (),
        max_results=max_results,
        open_results=opened,
        refresh=refresh,
    )
    with shown_progress(Console(stderr=True)) as tell:
        recorded = record(loaded, wanted, tell=tell)
    outcomes = recorded.outcomes
    failed = [each for each in outcomes if each.problem]
    if as_json:
        click.echo(json.dumps({"recorded": [asdict(each) for each in outcomes]}, ensure_ascii=False, indent=2))
    else:
        from toolablate.traces.terminal_text import plain_text

        for each in failed:
            said = each.problem if each.asked in each.problem else f"{each.asked}: {each.problem}"
            click.echo(plain_text(f"{each.kind} {said}"))
        click.echo(f"{len(outcomes) - len(failed)} of {len(outcomes)} recorded into {loaded.web.archive}")
    if recorded.stopped:
        click.echo(STOPPED, err=True)
    raise SystemExit(1 if failed or recorded.stopped else 0)


def _begin_over(archive: Path, base: Path) -> None:
    """Nothing where it is begun already, so that the command can be repeated after Ctrl-C."""
    from toolablate.tools.archive import create_overlay, info
    from toolablate.traces.errors import InputError

    try:
        create_overlay(archive, base)
    except InputError as error:
        if error.code != "exists":
            raise
        lies_over, sealed = info(archive).base, info(base).sealed
        if lies_over is None or sealed is None or lies_over.root != sealed.root:
            raise


@web_group.command("seal", epilog=options.example("toolablate web seal web-archive"))
@click.argument("archive", type=options.FilePath())
@options.as_json("the seal")
def seal_command(archive: Path, as_json: bool) -> None:
    """Seal ARCHIVE, and print the root digest that identifies it in every run.

    A sealed archive can be replayed, copied and shared. Only an overlay can extend it: `web record --over`.
    """
    from datetime import UTC, datetime

    from rich.console import Console

    from toolablate.experiments.environment.recording import seal_archive, shown_progress

    began = datetime.now(UTC)
    with shown_progress(Console(stderr=True), "reading pages") as tell:
        sealed = seal_archive(archive, tell=tell)
    if as_json:
        print_json(sealed)
    else:
        print_seal(str(archive), sealed, already=sealed.sealed_at < began)


# What is told of an archive: for people in words, for scripts as JSON.


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
    from pydantic import TypeAdapter

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


def _replies_lines(found: "RepliesInfo") -> Iterator[str]:
    yield f"recorded replies: {found.path}, {found.size:,} bytes"
    yield f"root digest: {found.root}"
    for model in found.models:
        yield f"{model.name} at {model.endpoint} ({model.api})"
        yield f"  {model.replies:,} replies to {model.requests:,} requests" + (
            f", {model.none:,} of them stopped by a filter or the like" if model.none else ""
        )
        yield f"  recorded {model.first:%Y-%m-%d %H:%M:%S} to {model.last:%Y-%m-%d %H:%M:%S} UTC"
    if not found.models:
        yield "holds nothing yet"


def _show_archive(file: Path, as_json: bool) -> None:
    from toolablate.tools.archive import info

    found = info(file)
    if as_json:
        print_json(found)
    else:
        print_info(found)


def _verify_archive(file: Path, as_json: bool) -> None:
    from toolablate.tools.archive import verify

    report = verify(file)
    if as_json:
        print_json(report)
    else:
        print_verification(report)
    raise SystemExit(1 if report.problems else 0)


def _show_replies(file: Path, as_json: bool) -> None:
    import json

    from pydantic import TypeAdapter

    from toolablate.agents.replies import info
    from toolablate.traces.terminal_text import plain_text

    found = info(file)
    if as_json:
        facts = TypeAdapter(type(found)).dump_python(found, mode="json")
        click.echo(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        for line in _replies_lines(found):
            click.echo(plain_text(line))


def _verify_replies(file: Path, as_json: bool) -> None:
    import json
    from dataclasses import asdict

    from toolablate.agents.replies import verify
    from toolablate.traces.terminal_text import plain_text

    report = verify(file)
    if as_json:
        click.echo(json.dumps(asdict(report), indent=2))
    else:
        click.echo(plain_text(f"{report.path}: found {report.replies:,} replies and {report.texts:,} texts whole"))
        for problem in report.problems:
            click.echo(plain_text(f"  damaged  {problem.where}: {problem.what}"))
        click.echo("This file is damaged." if report.problems else f"Nothing is damaged. root digest: {report.root}")
    raise SystemExit(1 if report.problems else 0)


def _kind(file: Path) -> str:
    """By what the file says of itself, "store" where that is nothing: opening it then says what is wrong with it."""
    if file.is_dir():
        return "archive"
    try:
        with file.open("rb") as opened:
            # SQLite keeps an application's own number here: https://www.sqlite.org/fileformat.html
            found = int.from_bytes(opened.read(72)[68:72], "big")
    except OSError:
        return "store"
    from toolablate.traces.store import APPLICATION_ID

    if found == APPLICATION_ID:
        return "store"
    from toolablate.agents.replies.cache_file import APPLICATION_ID as REPLIES

    return "replies" if found == REPLIES else "store"
