"""`toolablate clear map` and `agreement`: what of checklists asks models, or people."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.benchmarks.clear.command import NA, of_tasks
from toolablate.traces import options

if TYPE_CHECKING:
    from toolablate.analysis.checklist_measures import NaRule


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
    from toolablate.experiments.mapped_references import map_references
    from toolablate.experiments.pair_judging import work_told
    from toolablate.experiments.plans.judges_plan import load_judges
    from toolablate.experiments.running.progress import RunProgress
    from toolablate.reports.numbers import counted
    from toolablate.traces.commands import stopped_cleanly, warn
    from toolablate.traces.errors import InputError
    from toolablate.traces.output import export

    kept = calls or output.with_name(f"{output.name}.calls.jsonl")
    shown = page or output.with_name(f"{output.stem}.html")
    read = {each.resolve(): "a file that is read" for each in (source, plan, own) if each is not None}
    for option, path in (("-o", output), ("--page", shown), ("--calls", kept)):
        if path.resolve() in read:
            told = f"{option}: {path} is {read[path.resolve()]}"
            raise InputError(told, hint="Name another file.", code="same_file")
        read[path.resolve()] = f"that of {option}"
    judges = load_judges(plan)
    references = read_references(source, published_tasks() if own is None else read_tasks(own), task=task)
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
    click.echo(f"{output}: {counted(written, 'reference')} mapped")
    if written:
        export(mapped_page(references, found.texts, saved_as=f"{output.stem}.corrections.jsonl"), shown, "--page")
        click.echo(f"{shown}: the page on which people correct them")
    raise SystemExit(1 if found.missing or found.unread else 0)


@click.command(
    "agreement",
    epilog=options.example(
        "toolablate clear agreement STORE --page label.html",
        "toolablate clear agreement STORE --labels label.jsonl",
    ),
)
@click.argument("store", type=options.FilePath())
@options.run("latest")
@click.option("--na", type=click.Choice(NA), default="published", show_default=True, help="The rule that F1 goes by.")
@click.option(
    "--page",
    metavar="FILE",
    type=options.FilePath(dir_okay=False),
    help="Write a page on which people label what judges were asked, blind.",
)
@click.option(
    "--count", type=click.IntRange(1), default=100, show_default=True, help="With --page: so many, at random."
)
@click.option(
    "--labels",
    metavar="FILE",
    type=options.FilePath(dir_okay=False),
    multiple=True,
    help="What people saved from the page. May be given several times.",
)
@click.option(
    "--plan",
    metavar="PLAN",
    type=options.FilePath(dir_okay=False),
    help="A plan with [[judges]]: one compares what two mappers extracted. This asks, and costs.",
)
@click.option("--judge", metavar="NAME", default="", help="With --plan: this judge; by default the first.")
@click.option(
    "--calls",
    metavar="FILE",
    type=options.FilePath(dir_okay=False),
    help="With --plan: keeps what was asked and replied. Default: STORE.mappers.jsonl.",
)
@options.max_cost
@options.seed("the bootstrap and of what --page draws")
@options.as_json("all figures")
def agreement_command(
    store: Path,
    run: str,
    na: "NaRule",
    page: Path | None,
    count: int,
    labels: tuple[Path, ...],
    plan: Path | None,
    judge: str,
    calls: Path | None,
    max_cost: float | None,
    seed: int,
    as_json: bool,
) -> None:
    """Measure how far scorers of the checklists in STORE agree, with 95 % intervals (bootstrap over clusters).

    Two judges of the same mapped texts: kappa and share, on accuracy (each contains the other) and on ternary;
    Pearson's r of the samples' F1. Two mappers (runs with another `judging.mapper` or `mapping`): whether they find a
    text for the same items; with --plan also the F1 of the one's texts with the other's as references, as a judge
    compares them.

    People: --page writes an HTML file with two texts for one item in each box and two questions, without what judges
    said and without the condition. With what it saves, --labels compares each judge with people, and people with each
    other.

    With --plan each reply is kept as it comes: after Ctrl-C or a failure the same command goes on, and exits with 1
    while texts are not compared.
    """
    from rich.console import Console

    from toolablate.benchmarks.clear.agreement import (
        agreement_json,
        agreement_report,
        labelling_page,
        read_agreement,
    )
    from toolablate.benchmarks.clear.terminal_tables import agreement_view
    from toolablate.experiments.mapper_comparison import compare_mappers
    from toolablate.experiments.pair_judging import work_told
    from toolablate.experiments.plans.judges_plan import load_judges
    from toolablate.experiments.running.progress import RunProgress
    from toolablate.reports.numbers import counted
    from toolablate.traces.commands import stopped_cleanly, warn
    from toolablate.traces.errors import InputError
    from toolablate.traces.output import export

    if plan is None:
        options.refuse_given(["judge", "calls", "max_cost"], "needs --plan")
    found = read_agreement(store, run=run)
    if page is not None:
        if not found.cells:
            raise InputError("--page: no judge was asked about any two texts", code="nothing_to_label")
        text = labelling_page(found.cells, count, seed=seed, saved_as=f"{page.stem}.jsonl")
        export(text, page, "--page")
        click.echo(f"{page}: {counted(min(count, len(found.cells)), 'pair')} of texts to label", err=True)
    compared, console = None, Console(stderr=True)
    if plan is not None:
        kept = calls or store.with_name(f"{store.name}.mappers.jsonl")
        with stopped_cleanly(), RunProgress(console) as progress:
            compared = compare_mappers(
                found, load_judges(plan), kept, judge=judge, max_cost=max_cost, progress=progress
            )
        for line in work_told(compared.work):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        if compared.missing:
            warn(f"{counted(compared.missing, 'pair')} of texts not compared yet; the same command asks again")
        if compared.unread:
            warn(f"{counted(compared.unread, 'pair')} of texts without a verdict: their answers are left out of F1")
    report = agreement_report(found, na, labels=labels, contains=compared.contains if compared else None, seed=seed)
    if as_json:
        click.echo(agreement_json(report))
    else:
        Console().print(agreement_view(report))
    raise SystemExit(1 if compared is not None and compared.missing else 0)
