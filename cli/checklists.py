"""`toolablate clear map` and `agreement`: what of checklists asks models, or people."""

from pathlib import Path

import click

from toolablate.benchmarks.clear.command import of_tasks
from toolablate.traces import options


@click.command(
    "map",
    epilog=options.example("toolablate clear map references.jsonl --plan plan.toml --tasks mine.toml -o mapped.jsonl"),
)
@click.argument("source", metavar="REFERENCES", type=options.FilePath())
@click.option(
    "--plan",
    metavar="PLAN",
    type=options.FilePath(dir_okay=False),
    required=True,
    help="A plan with [[judges]], of which one maps; its other sections are not read.",
)
@click.option("-o", "--output", type=options.FilePath(dir_okay=False), required=True, help="The mapped rows to write.")
@of_tasks
@click.option("--mapper", metavar="NAME", default="", help="A judge of the plan; by default its judging.mapper.")
@click.option(
    "--page",
    metavar="FILE",
    type=options.FilePath(dir_okay=False),
    help="The page on which people correct them. Default: OUTPUT.html.",
)
@click.option(
    "--calls",
    metavar="FILE",
    type=options.FilePath(dir_okay=False),
    help="Keeps what was asked and replied. Default: OUTPUT.calls.jsonl.",
)
@options.max_cost
def map_command(
    source: Path,
    plan: Path,
    output: Path,
    task: str,
    own: Path | None,
    mapper: str,
    page: Path | None,
    calls: Path | None,
    max_cost: float | None,
) -> None:
    """Have a model read REFERENCES for what they say of each item of a checklist.

    \b
      {"id": "MINE-1", "input": "CCO", "raw_human_reference": "Ethanol, from fermentation by yeast."}

    Items and their definitions are those of the row's task, from --tasks:

    \b
      [MINE.items]
      Origin = "Where the molecule comes from."

    The same model, words and mapping (`judging.mapping`) as for answers in a run. Beside the mapped rows a page is
    written: one HTML file, to be sent to experts, on which each item is corrected and held to be faithful and complete
    or not. What it saves goes into the import:

    \b
      toolablate clear import mapped.jsonl --corrections mapped.corrections.jsonl -o questions.jsonl

    Each reply is kept as it comes and not asked for again: after Ctrl-C or a failure the same command goes on. A
    reference whose replies cannot be read is left out, and told. Exits with 1 if references are not mapped.
    """
    from rich.console import Console

    from toolablate.benchmarks.clear.published import published_tasks, read_tasks
    from toolablate.benchmarks.clear.references import mapped_page, read_references, write_checklists
    from toolablate.experiments.mapped_references import load_judges, map_references
    from toolablate.experiments.pair_judging import work_told
    from toolablate.experiments.running.progress import RunProgress
    from toolablate.reports.numbers import counted
    from toolablate.traces.commands import stopped_cleanly, warn
    from toolablate.traces.errors import InputError
    from toolablate.traces.output import export

    if output.exists() and output.samefile(source):
        raise InputError(f"-o: {output} is the file that is read", hint="Name another file.", code="same_file")
    judges = load_judges(plan)
    references = read_references(source, published_tasks() if own is None else read_tasks(own), task=task)
    kept = calls or output.with_name(f"{output.name}.calls.jsonl")
    shown = page or output.with_name(f"{output.stem}.html")
    console = Console(stderr=True)
    with stopped_cleanly(), RunProgress(console) as progress:
        found = map_references(judges, references, kept, mapper=mapper, max_cost=max_cost, progress=progress)
    for line in work_told(found.work, "reference"):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for identity, why in found.unread.items():
        warn(f"{identity}: not mapped: {why}")
    if found.missing:
        warn(f"{counted(found.missing, 'reference')} not mapped yet; the same command asks again")
    written = write_checklists(references, found.texts, output)
    export(mapped_page(references, found.texts, saved_as=f"{output.stem}.corrections.jsonl"), shown, "--page")
    click.echo(f"{output}: {counted(written, 'reference')} mapped")
    click.echo(f"{shown}: the page on which people correct them")
    raise SystemExit(1 if found.missing or found.unread else 0)
