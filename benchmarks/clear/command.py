from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options
from toolablate.traces.commands import LazyGroup

if TYPE_CHECKING:
    from toolablate.analysis.checklist_measures import NaRule

NA = ("published", "out", "recall")


_HERE = "toolablate.benchmarks.clear.command"
_ASKING = "toolablate.cli.checklists"


@click.group(
    name="clear",
    cls=LazyGroup,
    sections={
        "Commands": {
            "score": (f"{_HERE}:score", "Score judgements that exist already."),
            "flips": (f"{_HERE}:flips", "Show which items a condition gains, loses and falsifies."),
            "import": (f"{_HERE}:bring_in", "Bring in questions with checklists as references."),
            "map": (f"{_ASKING}:map_command", "Have a model map references to items, for people to correct."),
            "agreement": (f"{_ASKING}:agreement_command", "Measure agreement of judges, mappers and people."),
        }
    },
)
def command() -> None:
    """CLEAR: checklists of long answers against those of references, as in ExpertLongBench."""


def of_tasks(command: Callable[..., None]) -> Callable[..., None]:
    """`task` and `own`: what rows are about."""
    whose = "The task of all rows; by default each id begins with it."
    told = "A TOML file of prompts and definitions of items, of tasks of your own or in place of ours."
    file = options.FilePath(dir_okay=False)
    command = click.option("--tasks", "own", metavar="FILE", type=file, help=told)(command)
    return click.option("--task", metavar="NAME", default="", help=whose)(command)


@click.command(
    "score",
    epilog=options.example("toolablate clear score rows.jsonl --na out"),
)
@click.argument("source", type=options.FilePath())
@click.option(
    "--na",
    type=click.Choice(NA),
    default="published",
    show_default=True,
    help='What becomes of items that the reference leaves "N/A".',
)
@click.option(
    "--judge",
    "judges",
    metavar="NAME",
    multiple=True,
    help="Only this judge. May be given several times. By default those of the rows, or of the run.",
)
@options.run("latest")
@options.seed("the bootstrap")
@options.as_json("all figures")
def score(source: Path, na: "NaRule", judges: tuple[str, ...], run: str, seed: int, as_json: bool) -> None:
    """Score the judgements in SOURCE: a store, or a file of rows, of which each is one item of one answer:

    \b
      {"sample": "T07-1", "item": "Origin", "reference": "a fungus", "mapped": "N/A",
       "replies": {"judge-a": {"model_contains_reference": "No", "reference_contains_model": "Yes"}}}

    Replies are read as they came: yes or no is the first word of the last line. Where either side is "N/A", no reply is
    needed. A sample with a reply that is missing or neither yes nor no has no score: it is left out, and told. `task`
    is optional; of several tasks, overall figures are the unweighted means over tasks. --run is for stores.

    \b
    --na published  N/A of the reference counts, and silence is right there. This pays for silence: see the row
                    "says nothing", an answer of which nothing can be mapped.
    --na out        such items leave every denominator
    --na recall     as out, but those that the answer fills count against precision
    """
    import json

    from rich.console import Console

    from toolablate.benchmarks.clear.judged_rows import left_out_said, read_judgements, score_judgements, scores_json
    from toolablate.benchmarks.clear.terminal_tables import arm_title, scores_view
    from toolablate.traces.commands import tell_left_out, warn
    from toolablate.traces.output import is_store

    if not is_store(source):
        options.refuse_given(["run"], "is for stores")
        found = score_judgements(read_judgements(source, judges), na=na, seed=seed)
        warn(left_out_said(found))
        if as_json:
            click.echo(json.dumps(scores_json(found), ensure_ascii=False, indent=2))
        else:
            Console().print(scores_view(found))
        return
    from toolablate.benchmarks.clear.stored import failed_said, score_store

    stored = score_store(source, na=na, run=run, judges=judges, seed=seed)
    warn(stored.warning)
    for arm in stored.arms:
        warn(left_out_said(arm.scores))
        warn(failed_said(arm))
    if as_json:
        arms = [
            {"model": arm.model, "condition": arm.condition, "failed": arm.failed, **scores_json(arm.scores)}
            for arm in stored.arms
        ]
        content = {"arms": arms, "left_out": stored.left_out, "warning": stored.warning}
        click.echo(json.dumps(content, ensure_ascii=False, indent=2))
        return
    console = Console()
    for arm in stored.arms:
        console.print(arm_title(arm.model, arm.condition), scores_view(arm.scores))
    tell_left_out(console, stored.left_out)


@click.command(
    "import",
    epilog=options.example("toolablate clear import T07ChemMDG.jsonl -o questions.jsonl"),
)
@click.argument("source", type=options.FilePath())
@options.question_file
@of_tasks
@click.option(
    "--corrections",
    metavar="FILE",
    type=options.FilePath(dir_okay=False),
    help="What people saved from the page of `clear map`.",
)
def bring_in(source: Path, output: Path, task: str, own: Path | None, corrections: Path | None) -> None:
    """Bring in rows of ExpertLongBench's published form from SOURCE: a JSONL, or another file of rows.

    \b
      {"id": "T07ChemMDG-1", "input": "CCO", "raw_human_reference": "...",
       "human_reference_checklist": {"Origin": "yeast", "Use": "N/A"}}

    The prompt is ours for the task, then the input. Items are those of the row. Prompts and definitions can be given in
    FILE, a table for each task; an item without a definition is known to the mapper by its name:

    \b
      [T07ChemMDG]
      prompt = "Describe this molecule:"
      [T07ChemMDG.items]
      Origin = "Where the molecule comes from."

    Rows that `toolablate clear map` wrote have the same form.
    """
    from toolablate.benchmarks.clear.corrections import corrections_told, read_corrections
    from toolablate.benchmarks.clear.published import load_published, published_tasks, read_tasks, told_of
    from toolablate.benchmarks.questions import write_questions
    from toolablate.reports.numbers import counted

    tasks = published_tasks() if own is None else read_tasks(own)
    corrected = None if corrections is None else read_corrections(source, corrections)
    questions = load_published(source, tasks, task=task, corrected={} if corrected is None else corrected.texts)
    write_questions([(output, questions)], source=source)
    click.echo(f"{output}: {counted(len(questions), 'question')}")
    for each in told_of(questions, tasks):
        limit = "" if each.max_tokens is None else f"; replies of at most {each.max_tokens:,} tokens"
        click.echo(
            f"  {each.name}: {counted(each.questions, 'question')}, {counted(each.items, 'item')},"
            f" {each.undefined} without a definition; {100 * each.na_share:.0f} % of references are N/A,"
            f" says nothing: F1 {100 * each.silent:.1f}{limit}"
        )
    if corrected is not None:
        click.echo(corrections_told(corrected))


@click.command(
    "flips",
    epilog=options.example("toolablate clear flips STORE --baseline none --why"),
)
@click.argument("store", type=options.FilePath())
@options.baseline
@options.run("latest")
@options.scorer
@click.option("--why", is_flag=True, help="Also list the items that went wrong, with what speaks for a cause.")
@options.seed("the bootstrap")
@options.as_json("all figures")
def flips(store: Path, baseline: str | None, run: str, scorer: str | None, why: bool, seed: int, as_json: bool) -> None:
    """Show which items of the checklists in STORE change between the baseline and each condition: gained, lost,
    falsified, newly silent, newly filled and overfilled, beside what changes between two runs of the baseline.

    The difference of F1 is shown under each rule for "N/A" of the reference, beside an answer that says nothing. Where
    coverage is up and accuracy is down on items that both answers fill, both beyond their intervals, that is the
    signature of retrieval distraction.

    --why asks nobody. Of each item that went wrong it says which tool result holds what is new in its text, and in how
    many replays of the trial that the store has (`toolablate replay`, `attribute --replay`) the item came back, by what
    was changed; beside the share that came back when the trial was only sampled again.
    """
    from toolablate.benchmarks.clear.stored import checklists_json, read_checklists
    from toolablate.traces.commands import tell_left_out, warn

    found = read_checklists(store, baseline=baseline, run=run, scorer=scorer, why=why, seed=seed)
    warn(found.warning)
    if as_json:
        click.echo(checklists_json(found))
        return
    from rich.console import Console

    from toolablate.benchmarks.clear.terminal_tables import flips_view

    console = Console()
    console.print(flips_view(found))
    tell_left_out(console, found.left_out)
