from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from toolablate.traces.records import Question


@click.group(name="lpfqa")
def command() -> None:
    """LPFQA: bring in published questions, and analyse what models made of them."""


@command.command(
    "import",
    epilog=options.example("toolablate lpfqa import lpfqa.jsonl -o questions.jsonl"),
    short_help="Bring in published questions.",
)
@click.argument("source", type=options.FilePath())
@options.question_file
@click.option("--list", "as_list", is_flag=True, help="Also say of each question what it was taken for.")
def bring_in(source: Path, output: Path, as_list: bool) -> None:
    """Bring in published questions from SOURCE: a JSONL, a JSON file that is one array of rows (.json), a Parquet file
    or a folder of such files, a folder that `datasets` saved, or a dataset of the Hugging Face hub (hf:OWNER/NAME,
    hf:OWNER/NAME@REVISION, either with #SPLIT).

    A row has prompt_id, prompt and response_reference, which holds a reference answer and the points that an answer has
    to meet; it may have primary_domain, secondary_domain, judge_system_prompt and judge_prompt_template.
    Other keys are ignored.
    """
    from toolablate.benchmarks.lpfqa.published import load_lpfqa
    from toolablate.benchmarks.questions import write_questions

    questions = load_lpfqa(source)
    write_questions([(output, questions)], source=source)
    for line in [*_told(output, questions), *(map(_taken_for, questions) if as_list else ())]:
        click.echo(line)


def _taken_for(question: "Question") -> str:
    from toolablate.traces.terminal_text import one_line

    said, rubric = ["reference"], question.rubric
    if question.target.kind == "choice":
        options = len(question.choices) or "the prompt's"
        said = [f"choice {', '.join(question.target.letters)} of {options}"]
    if rubric is not None:
        said += ["points"] * bool(rubric.points) + ["own judge prompt"] * (rubric.prompt is not None)
    return f"{one_line(question.id)}: {', '.join(said)}"


def _told(output: Path, questions: Sequence["Question"]) -> list[str]:
    """How they are to be scored."""
    from toolablate.reports.numbers import counted

    letters = [(len(each.target.letters), each.choices) for each in questions if each.target.kind == "choice"]
    one, inside = sum(count == 1 for count, _ in letters), sum(not choices for _, choices in letters)
    rubrics = [each.rubric for each in questions if each.rubric is not None]
    lines = {
        "one right letter": one,
        "several right letters": len(letters) - one,
        "a reference answer": len(questions) - len(letters),
        "points that an answer has to meet": sum(bool(rubric.points) for rubric in rubrics),
        "a judge prompt of its own": sum(rubric.prompt is not None for rubric in rubrics),
        "letters, and options that cannot be told apart in its prompt": inside,
    }
    width = len(f"{len(questions):,}")
    said = [f"{number:>{width},} with {what}" for what, number in lines.items()]
    return [f"{output}: {counted(len(questions), 'question')}", *(said if inside else said[:-1])]


@command.command(
    "tables",
    epilog=options.example("toolablate lpfqa tables STORE --csv domains.csv"),
    short_help="Make the tables of LPFQA's papers of a store.",
)
@click.argument("store", type=options.FilePath())
@click.option("--baseline", metavar="NAME", help="The condition without tools; by default the run's.")
@options.run("all")
@options.scorer
@click.option(
    "--beside",
    metavar="FILE",
    type=options.FilePath(),
    help="Also compare ranks with scores of other benchmarks, from a TOML or CSV file.",
)
@options.seed("the bootstrap and permutations")
@options.as_json("all figures, each question's tier among them,")
@options.csv("the domain table")
@options.plot("a radar of the domain table")
def tables(
    store: Path,
    baseline: str | None,
    run: str,
    scorer: str | None,
    beside: Path | None,
    seed: int,
    as_json: bool,
    csv: Path | None,
    plot: Path | None,
) -> None:
    """Make the tables of LPFQA's papers from the trials in STORE, of any benchmark.

    Under the baseline: scores and ranks of models; by domain, with the best, and the highest and lowest; without the
    questions that no model gets right, or all do; by difficulty, as pass rates tell it. Then each condition against
    the baseline, in points and relative, with the averages that papers print, and whether sampling noise explains it.

    FILE has a score of each model on each other benchmark, more being better:

    \b
      TOML:  ["MMLU-Pro"]             CSV:  model,MMLU-Pro,HLE
             "GLM-4.6" = 83.2               GLM-4.6,83.2,17.2
             "GPT-5-High" = 87.1            GPT-5-High,87.1,26.3
    """
    from rich.console import Console

    from toolablate.benchmarks.lpfqa.scoreboard import domains_csv, scoreboard_json
    from toolablate.benchmarks.lpfqa.stored import read_others, read_tables
    from toolablate.benchmarks.lpfqa.terminal_tables import scoreboard_view
    from toolablate.traces.commands import tell_left_out, warn
    from toolablate.traces.output import export

    if plot is not None:
        from toolablate.reports.plots.drawing import boxes_note, require_plots
        from toolablate.traces.output import make_folder, refuse_store

        require_plots(plot)
        refuse_store(plot, "--plot")
    others = [] if beside is None else read_others(beside)
    found = read_tables(store, baseline=baseline, run=run, scorer=scorer, others=others, seed=seed)
    warn(found.warning)
    if csv is not None:
        export(domains_csv(found.scoreboard), csv, "--csv")
    if plot is not None:
        from toolablate.benchmarks.lpfqa.terminal_tables import draw_domain_radar

        make_folder(plot, "--plot")
        warn(boxes_note(draw_domain_radar(found.scoreboard, plot)))
    if as_json:
        click.echo(scoreboard_json(found.scoreboard))
        return
    console = Console()
    console.print(scoreboard_view(found.scoreboard))
    tell_left_out(console, found.left_out)


@command.command(
    "pilot",
    epilog=options.example("toolablate lpfqa pilot STORE -o tiered.jsonl --models 3 --drop trivial"),
    short_help="Write the difficulty that a pilot found into questions.",
)
@click.argument("store", type=options.FilePath())
@options.question_file
@click.option(
    "--models",
    "count",
    type=click.IntRange(min=2),
    metavar="N",
    help="Draw so many models by the seed; by default all count.",
)
@click.option(
    "--drop",
    type=click.Choice(["trivial", "unsolved"]),
    multiple=True,
    help="Leave out questions that every run of every model gets right (trivial), or none (unsolved). May be given"
    " twice.",
)
@click.option("--baseline", metavar="NAME", help="The condition without tools; by default the run's.")
@options.run("all")
@options.scorer
@options.seed("the draw of models")
@options.as_json("what was written")
def pilot(
    store: Path,
    output: Path,
    count: int | None,
    drop: tuple[str, ...],
    baseline: str | None,
    run: str,
    scorer: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Write the questions of STORE with their difficulty by pass rate under the baseline: easy above 50 %, hard
    below 30 %, else medium. `pass_rate` (in percent), its 95 % interval over models (`pass_rate_ci95`) and what the
    question said before (`difficulty_before`) go into its metadata.

    Where these models also ran under `choices-only`, the share that they guess right without the question is compared
    with chance, and goes into the metadata as `guess_rate` (in percent), of questions with one right option.

    Questions that not all of these models answered are left out, and counted. With few models and repeats sampling
    noise moves questions between tiers: test on other models than those of the pilot.
    """
    import json
    from dataclasses import asdict

    from toolablate.benchmarks.lpfqa.stored import read_pilot
    from toolablate.benchmarks.questions import write_questions
    from toolablate.reports.numbers import counted, p_value

    found = read_pilot(store, models=count, drop=drop, baseline=baseline, run=run, scorer=scorer, seed=seed)
    write_questions([(output, found.questions)], source=store)
    if as_json:
        click.echo(
            json.dumps(
                {
                    "models": found.models,
                    "tiers": found.tiers,
                    "sure": found.sure,
                    "left_out": found.left_out,
                    "guesses": None if found.guesses is None else asdict(found.guesses),
                },
                indent=2,
            )
        )
        return
    tiers = ", ".join(f"{number} {tier}" for tier, number in found.tiers.items())
    click.echo(
        f"{output}: {counted(len(found.questions), 'question')} ({tiers}), by {counted(len(found.models), 'model')}"
    )
    click.echo(f"sure of their tier: {found.sure} (95 % interval over models)")
    for why, number in found.left_out.items():
        click.echo(f"left out: {number} {why}")
    if guesses := found.guesses:
        low, high = (100 * end for end in guesses.ci95)
        click.echo(
            f"from the options alone: {100 * guesses.rate:.1f} % right [{low:.1f}, {high:.1f}], by chance"
            f" {100 * guesses.chance:.1f} %, more than chance: p {p_value(guesses.p)}"
            f" ({counted(len(guesses.by_question), 'question')}, {counted(guesses.trials, 'trial')},"
            f" {guesses.unparsed:,} unparsed)"
        )
