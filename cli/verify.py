from pathlib import Path

import click

from toolablate.traces import options


@click.command("verify")
@click.argument("store", type=options.FilePath())
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
def command(store: Path, other: Path | None, partial: bool, as_json: bool) -> None:
    """Check the digests, references and completeness of STORE.

    Exits with 1 where something is damaged. Trials that are planned and not finished are information, not damage; so
    are calls of tools that a model was not offered, of which it warns, since the model's turns went to them.

    With --same-as, the trials that have ended in both stores are compared as well, in all but times, software and
    failures that were retried; one that differs is listed with its first difference, and the command exits with 1.
    It does so as well where a trial has ended in one store alone, and where no trial is the same.

    \b
      toolablate verify runs/replayed.sqlite --same-as runs/recorded.sqlite
    """
    import json
    from dataclasses import asdict

    from toolablate.analysis.from_store import read_refused_calls
    from toolablate.traces.store import verify

    if partial and other is None:
        raise click.UsageError("--partial is for --same-as STORE")
    report = verify(store)
    # A damaged store may have lost what this is counted in.
    refused = read_refused_calls(store) if report.ok else []
    same = None
    if other is not None:
        from toolablate.traces.store.same_as import same_as

        same = same_as(store, other, partial=partial)
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
