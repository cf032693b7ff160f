from pathlib import Path

import click

from toolablate.traces import options


@click.command("record")
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
@click.option("--refresh", is_flag=True, help="Capture again what is there; the newest then counts.")
@options.as_json("what came of each")
def command(
    plan: Path,
    urls: tuple[str, ...],
    urls_file: Path | None,
    queries: Path | None,
    max_results: int,
    opened: int,
    refresh: bool,
    as_json: bool,
) -> None:
    """Record pages and searches into the archive of PLAN, by the plan's own provider and policy, whatever its mode.

    What the archive holds already is not asked for again, so that after Ctrl-C the same command goes on. Exits with 1
    if some could not be had, and says why.

    \b
      toolablate web record plan.toml https://example.org/a https://example.org/b
      toolablate web record plan.toml --queries queries.txt --open 5
    """
    import json
    from dataclasses import asdict

    from rich.console import Console

    from toolablate.experiments.plans.plan import load_plan
    from toolablate.experiments.world.recording import Wanted, read_list, record, shown_progress
    from toolablate.traces.commands import STOPPED

    loaded, _ = load_plan(plan)
    wanted = Wanted(
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
        from toolablate.traces.plain import plain_text

        for each in failed:
            said = each.problem if each.asked in each.problem else f"{each.asked}: {each.problem}"
            click.echo(plain_text(f"{each.kind} {said}"))
        click.echo(f"{len(outcomes) - len(failed)} of {len(outcomes)} recorded into {loaded.web.archive}")
    if recorded.stopped:
        click.echo(STOPPED, err=True)
    raise SystemExit(1 if failed or recorded.stopped else 0)
