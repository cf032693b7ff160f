from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options
from toolablate.traces.commands import LazyGroup

if TYPE_CHECKING:
    from toolablate.benchmarks.lfqa_e.tables import LfqaTables

_HERE = "toolablate.benchmarks.lfqa_e.command"


@click.group(
    name="lfqa-e",
    cls=LazyGroup,
    sections={
        "Commands": {
            "tables": (f"{_HERE}:tables", "Score metrics that need no model, and baselines."),
            "annotate": (f"{_HERE}:annotate", "Make a page for a person to compare the answers."),
            "import": (f"{_HERE}:bring_in", "Bring in the questions of the comparisons."),
            "run": ("toolablate.cli.preferring:lfqa_run_command", "Ask judges and reward models, and score them."),
        }
    },
)
def command() -> None:
    """LFQA-E: measure metrics and judges of long answers on pairs with experts' verdicts."""


@click.command(
    "tables",
    epilog=options.example("toolablate lfqa-e tables lfqa_e_zh.json"),
)
@click.argument("file", type=options.FilePath())
@click.option(
    "--metric",
    "given",
    multiple=True,
    metavar="NAME=FILE",
    help="Another metric or annotator: rows of id with a verdict, or with scores a and b. May be given several times.",
)
@options.seed("the bootstrap")
@options.as_json("all figures")
def tables(file: Path, given: tuple[str, ...], seed: int, as_json: bool) -> None:
    """Score metrics on the comparisons of FILE, in either form of LFQA-E, in that of Xu et al. (2023), or
    in pairs of Feedback-Bench.

    Lengths, ROUGE-1, -2 and -L, BLEU and chrF against the reference, each with the tie threshold 0 and with one fitted
    on other questions; beside them always a, always b, always same, the longer, the shorter, and a random draw. For all
    comparisons, each language, each setting and each topic: accuracy, macro-F1, ties, kappa with the experts, and 95 %
    intervals from a bootstrap over questions. ROUGE counts words, and each Han or kana sign as a word.
    """
    from toolablate.benchmarks.lfqa_e.comparisons import load_comparisons
    from toolablate.benchmarks.lfqa_e.metrics import metric_of_file, with_fitted_tau
    from toolablate.benchmarks.lfqa_e.tables import lfqa_tables

    named = dict(_named(each) for each in given)
    if len(named) < len(given):
        raise click.UsageError("--metric: two have the same name.")
    comparisons = load_comparisons(file)
    others = [metric_of_file(name, path, comparisons) for name, path in named.items()]
    others += [with_fitted_tau(each, comparisons) for each in others if each.is_scored]
    show(lfqa_tables(comparisons, others, seed=seed), as_json=as_json)


def _named(given: str) -> tuple[str, str]:
    name, _, path = given.partition("=")
    if not name or not path:
        raise click.UsageError(f"--metric: NAME=FILE is expected; found {given!r}.")
    return name, path


def show(found: "LfqaTables", *, as_json: bool) -> None:
    import json

    from rich.console import Console

    from toolablate.benchmarks.lfqa_e.tables import lfqa_json
    from toolablate.benchmarks.lfqa_e.terminal_tables import lfqa_view
    from toolablate.traces.commands import warn

    warn(found.missing)
    if as_json:
        click.echo(json.dumps(lfqa_json(found), ensure_ascii=False, indent=2))
    else:
        Console().print(lfqa_view(found))


@click.command(
    "annotate",
    epilog=options.example(
        "toolablate lfqa-e annotate lfqa_e_zh.json --limit 100 -o page.html",
        "toolablate lfqa-e tables lfqa_e_zh.json --metric human=verdicts.jsonl",
    ),
)
@click.argument("file", type=options.FilePath())
@click.option("-o", "--output", type=options.FilePath(dir_okay=False), required=True, help="The page to write.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="So many comparisons, drawn at random.")
@options.seed("the draw")
def annotate(file: Path, output: Path, limit: int | None, seed: int) -> None:
    """Make a page on which a person compares the answers of FILE, beside the reference, by the keys 1, 2 and 0.

    Comparisons come in random order, the two answers of each as well, and nothing shows where they come from. The page
    needs no server. It saves verdicts.jsonl for `lfqa-e tables FILE --metric human=verdicts.jsonl`.
    """
    from toolablate.benchmarks.lfqa_e.annotation import annotation_page
    from toolablate.benchmarks.lfqa_e.comparisons import drawn, load_comparisons
    from toolablate.reports.numbers import counted
    from toolablate.traces.errors import InputError
    from toolablate.traces.output import export

    comparisons = drawn(load_comparisons(file), limit, seed)
    if output.resolve() == file.resolve():
        raise InputError(f"{output} is the file that is read", hint="Name another file to write.", code="same_file")
    export(annotation_page(comparisons, seed=seed), output, "--output")
    click.echo(f"{output}: {counted(len(comparisons), 'comparison')}")


@click.command(
    "import",
    epilog=options.example("toolablate lfqa-e import lfqa_e_zh.json -o questions.jsonl"),
)
@click.argument("file", type=options.FilePath())
@options.question_file
def bring_in(file: Path, output: Path) -> None:
    """Bring in the questions of FILE, one for each distinct question with its material, for a plan to ask.

    The reference answer is the target: answers are graded by a judge, or compared in pairs by `toolablate prefer`.
    """
    from toolablate.benchmarks.lfqa_e.comparisons import load_comparisons, questions_of_comparisons
    from toolablate.benchmarks.questions import write_questions
    from toolablate.reports.numbers import counted
    from toolablate.traces.errors import InputError

    comparisons = load_comparisons(file)
    if not all(each.reference for each in comparisons):
        raise InputError(
            f"{file}: has no reference answers to grade by",
            hint="use it with `lfqa-e tables` and `lfqa-e run`",
            code="no_reference",
        )
    questions = questions_of_comparisons(comparisons)
    write_questions([(output, questions)], source=file)
    click.echo(f"{output}: {counted(len(questions), 'question')} of {counted(len(comparisons), 'comparison')}")
    click.echo("Their target is a reference: name a judge in the plan.")
    several = len({(each.question.id, each.reference) for each in comparisons}) - len(questions)
    if several:
        click.echo(f"{counted(several, 'further reference')} of the same questions left out: the first one counts.")
