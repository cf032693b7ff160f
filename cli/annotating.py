from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from toolablate.experiments.annotating import Annotated


@click.command(
    "annotate", epilog=options.example("toolablate annotate plan.toml -o annotated.jsonl --phrasings 4 --open 3")
)
@click.argument("plan", type=options.FilePath())
@options.question_file
@click.option(
    "--phrasings",
    type=click.IntRange(min=1),
    metavar="K",
    default=4,
    show_default=True,
    help="Queries per question at most: those of metadata.phrasings first, then up to four by rule.",
)
@click.option(
    "--results",
    type=click.IntRange(1, 50),
    metavar="N",
    default=10,
    show_default=True,
    help="Results of a search to look at.",
)
@click.option(
    "--open",
    "opened",
    type=click.IntRange(0, 50),
    metavar="N",
    default=3,
    show_default=True,
    help="Read the pages of the first N results, where neither title nor extract answers.",
)
@click.option(
    "--programs",
    type=options.FilePath(dir_okay=False),
    metavar="STORE",
    help="Also tell which answers programs computed in the trials of this store.",
)
@click.option(
    "--record",
    type=options.FilePath(dir_okay=False),
    help="Keep what searches found in this file; by default beside the plan's store.",
)
@options.as_json("the figures")
def command(
    plan: Path,
    output: Path,
    phrasings: int,
    results: int,
    opened: int,
    programs: Path | None,
    record: Path | None,
    as_json: bool,
) -> None:
    """Write whether answers can be found and computed into the metadata of PLAN's questions, so that --by can use it.

    retrievable: the share of phrasings for which the plan's own search finds the question's source
    (metadata.source_urls), or a result that says the answer; without a table [search] the question's own documents are
    searched. retrieved: the best that was found: source, answer, nothing. computable: by rule from the question's form:
    yes, no, unclear; what is there already stays. computed, with --programs: yes where a program of any trial gave the
    right answer without having it written in it, no where programs ran and none did.

    What blocked_hosts withhold from models counts as found. Searches that failed are no misses: they are counted, and
    asked again by the same command, which exits with 1.
    """
    from rich.console import Console

    from toolablate.benchmarks.questions import write_questions
    from toolablate.experiments.annotating import AnnotationRequest, annotate
    from toolablate.experiments.environment.recording import shown_progress
    from toolablate.experiments.plans.plan import load_plan
    from toolablate.traces.commands import stopped_cleanly
    from toolablate.traces.terminal_text import plain_text

    loaded, _ = load_plan(plan)
    kept = record or Path(loaded.store).with_suffix(".retrievals.jsonl")
    wanted = AnnotationRequest(phrasings, results, opened)
    with stopped_cleanly(), shown_progress(Console(stderr=True), "searching") as tell:
        found = annotate(loaded, wanted, kept, programs=programs, tell=tell)
    write_questions([(output, found.questions)], source=Path(loaded.questions.file))
    if as_json:
        import json
        from dataclasses import asdict

        figures = {key: value for key, value in asdict(found).items() if key != "questions"}
        click.echo(json.dumps(figures, ensure_ascii=False, indent=2))
    else:
        for line in _told(output, found):
            click.echo(plain_text(line))
    raise SystemExit(1 if found.failed else 0)


def _told(output: Path, found: "Annotated") -> list[str]:
    from toolablate.reports.numbers import counted

    lines = [f"{output}: {counted(len(found.questions), 'question')}"]
    lines += ["computable: " + ", ".join(f"{count} {name}" for name, count in found.computable.items())]
    if ran := sum(found.computed.values()):
        lines.append(
            f"computed by a program: {found.computed['yes']} of {counted(ran, 'question')} of which programs ran"
        )
    if not found.searched:
        return [*lines, "retrievable: not asked; the plan has no table [search], and its questions no documents"]
    lines += [f"retrieved by {found.asked} phrasings, in {found.searched}:"]
    for each in found.shares:
        low, high = (100 * end for end in each.ci95)
        name = "all" if each.domain is None else each.domain or "(no domain)"
        lines.append(
            f"  {name}: {100 * each.any_phrasing:.0f} % of {counted(each.questions, 'question')}"
            f" ({low:.0f} to {high:.0f}), {100 * each.phrasings:.0f} % of phrasings"
        )
    lines += ["best found: " + ", ".join(f"{count} {name}" for name, count in found.retrieved.items())]
    if found.untestable:
        lines.append(f"not testable: {found.untestable} with neither a source nor an answer in words")
    if found.unread:
        lines.append(f"pages that could not be read: {found.unread}")
    lines += [f"failed: {count} x {reason}" for reason, count in found.failed.items()]
    return lines
