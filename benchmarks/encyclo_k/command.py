from pathlib import Path

import click

from toolablate.traces import options

Range = tuple[int, int]


def _range(*names: str, default: Range, help: str) -> options.Option:
    said = f"{help} Uniform from the least to the most."
    return click.option(*names, type=(int, int), metavar="LEAST MOST", default=default, show_default=True, help=said)


@click.group(name="encyclo-k")
def command() -> None:
    """Encyclo-K: compose questions of statements, bring in published ones, and analyse what models made of them."""


@command.command(
    "compose",
    epilog=options.example("toolablate encyclo-k compose statements.jsonl -o questions.jsonl"),
    short_help="Compose questions of statements, from a seed.",
)
@click.argument("statements", type=options.FilePath())
@options.question_file
@options.seed("all choices")
@click.option(
    "--questions",
    type=click.IntRange(min=1),
    metavar="N",
    default=5000,
    show_default=True,
    help="How many to share out; each subfield's part is rounded up.",
)
@_range("--statements", "held", default=(8, 10), help="Statements in a question.")
@_range("--options", default=(4, 8), help="Options of a question.")
@_range("--combination", default=(2, 4), help="Statements in an option.")
@click.option(
    "--single",
    type=options.FilePath(dir_okay=False),
    help="Also write a file that asks of each of their statements whether it holds true.",
)
def compose(
    statements: Path,
    output: Path,
    seed: int,
    questions: int,
    held: Range,
    options: Range,
    combination: Range,
    single: Path | None,
) -> None:
    """Compose questions of the statements in STATEMENTS, a JSONL or another source that `lpfqa import` takes, from a
    seed alone.

    A row has id, text, correct (true or false) and discipline, and may have field, subfield, language and of: the id
    of the correct statement that an incorrect one was made from. A question's statements are of one subfield and
    language, and one option names all that are correct, or all that are incorrect.
    """
    from toolablate.benchmarks.encyclo_k.composing import compose, single_statements
    from toolablate.benchmarks.encyclo_k.statements import load_statements
    from toolablate.benchmarks.questions import write_questions
    from toolablate.reports.numbers import counted

    found = load_statements(statements)
    composed = compose(found, seed, questions, statements_per_question=held, options=options, combination=combination)
    judged = () if single is None else single_statements(composed, found, seed)
    write_questions(
        [(output, composed)] if single is None else [(output, composed), (single, judged)], source=statements
    )
    click.echo(f"{output}: {counted(len(composed), 'question')} of {counted(len(found), 'statement')}, seed {seed}")
    independent = len({each.cluster or each.id for each in composed})
    if independent < len(composed):
        click.echo(
            f"To tests and intervals these are {independent:,}, since questions that share statements are one. Ask for"
            " fewer --questions, or fewer --statements in each."
        )
    if single is not None:
        click.echo(f"{single}: {counted(len(judged), 'question')}, one for each statement of these")


@command.command(
    "import",
    epilog=options.example("toolablate encyclo-k import published.jsonl -o questions.jsonl"),
    short_help="Bring in published questions.",
)
@click.argument("published", type=options.FilePath())
@options.question_file
def import_published(published: Path, output: Path) -> None:
    """Bring in published questions from PUBLISHED, a JSONL or another source that `lpfqa import` takes.

    A row has question, options, answer_letter and discipline, and may have field, subfield, difficulty, id and
    language. Other keys are ignored.
    """
    from toolablate.benchmarks.encyclo_k.published import load_published_questions
    from toolablate.benchmarks.questions import write_questions
    from toolablate.reports.numbers import counted

    questions = load_published_questions(published)
    write_questions([(output, questions)], source=published)
    click.echo(f"{output}: {counted(len(questions), 'question')}")


@command.command(
    "statistics",
    epilog=options.example(
        "toolablate encyclo-k statistics statements.jsonl",
        "toolablate encyclo-k statistics questions.jsonl --questions",
    ),
    short_help="Describe statements, or questions.",
)
@click.argument("file", type=options.FilePath())
@click.option("--questions", is_flag=True, help="FILE has questions, composed or imported.")
@options.as_json("the rows")
def statistics(file: Path, questions: bool, as_json: bool) -> None:
    """Describe the statements in FILE by discipline, as the paper's tables of its data do: how many, in which
    languages, correct and incorrect, their lengths, fields and subfields. Of questions: their lengths, and how many
    statements, options, and statements in an option they have.
    """
    from toolablate.benchmarks.encyclo_k.statistics import read_statistics, statistics_json, statistics_view

    rows = read_statistics(file, questions=questions)
    if as_json:
        click.echo(statistics_json(rows))
        return
    from rich.console import Console

    Console().print(statistics_view(rows))


@command.command(
    "tables", epilog=options.example("toolablate encyclo-k tables STORE"), short_help="Analyse the trials of a store."
)
@click.argument("store", type=options.FilePath())
@options.run("all")
@options.scorer
@options.seed("the bootstrap")
@options.as_json("all figures, fields and subfields among them,")
def tables(store: Path, run: str, scorer: str | None, seed: int, as_json: bool) -> None:
    """Analyse the trials in STORE that are of Encyclo-K, by model and condition.

    Accuracy over questions, subfields, fields and disciplines, by discipline, number of options and of statements; by
    the place of the right option, and which places are chosen; over question sets of several seeds; the length of
    replies; and statements judged one by one beside the questions composed of them.
    """
    from toolablate.benchmarks.encyclo_k.analyses import read_tables
    from toolablate.benchmarks.encyclo_k.analysis_results import tables_json

    found = read_tables(store, run=run, scorer=scorer, seed=seed)
    if as_json:
        click.echo(tables_json(found))
        return
    from rich.console import Console

    from toolablate.benchmarks.encyclo_k.terminal_tables import encyclo_k_view

    Console().print(encyclo_k_view(found))
