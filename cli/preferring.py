"""`toolablate prefer`: which answers does a blind judge prefer?"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolablate.experiments.preferring import PreferenceReport


@click.command("prefer", epilog=options.example("toolablate prefer runs/demo.sqlite --baseline none"))
@click.argument("store", type=options.FilePath())
@options.baseline
@click.option("--judge", "judges", metavar="NAME", multiple=True, help="A judge of the plan; by default all.")
@click.option(
    "--mode",
    type=click.Choice(("direct", "reasons", "structured")),
    default="reasons",
    show_default=True,
    help="Verdict only, reasons first, or a list of the reference's statements first.",
)
@click.option("--one-order", is_flag=True, help="Ask in one random order instead of both, at half the cost.")
@options.models
@options.conditions
@options.scorer
@options.run("latest")
@options.plan
@click.option("--verdicts", type=options.FilePath(dir_okay=False), help="Default: STORE.preferences.jsonl.")
@click.option("--calibration", type=options.FilePath(), metavar="PLAN", help="Correct by this plan of `lfqa-e run`.")
@options.max_cost
@options.seed("the bootstrap")
@options.as_json("all figures")
def prefer_command(store: Path, one_order: bool, as_json: bool, **given: Any) -> None:
    """Ask the judges of the plan which of two answers is better: the baseline's or a condition's.

    The judge sees question, reference and both answers, not where they come from, in both orders; a verdict that turns
    with the order is a tie. Only scored trials are compared, repeat by repeat. The noise floor is two repeats of the
    baseline, judged the same way.

    Verdicts are kept in a file and not asked for again: after Ctrl-C or a failure the same command goes on. Exits with
    1 if verdicts are missing.
    """
    import json

    from rich.console import Console

    from toolablate.experiments.pair_judging import work_told
    from toolablate.experiments.preferring import prefer, preference_json
    from toolablate.experiments.running.progress import RunProgress
    from toolablate.traces.commands import stopped_cleanly

    console = Console(stderr=True)
    with stopped_cleanly(), RunProgress(console) as progress:
        report, work = prefer(store, orders="one" if one_order else "both", progress=progress, **given)
    for line in work_told(work):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if as_json:
        click.echo(json.dumps(preference_json(report), ensure_ascii=False, indent=2))
    else:
        _show(report)
    raise SystemExit(1 if report.missing else 0)


def _show(report: "PreferenceReport") -> None:
    from rich.console import Console

    from toolablate.reports.numbers import counted
    from toolablate.reports.terminal.preference import preference_table

    rows = [*report.rows, *report.noise]
    keys = [(row.judge, row.model, row.condition) for row in rows]
    floors = [row.condition == report.baseline for row in rows]
    console = Console()
    console.print(preference_table(report.baseline, keys, [row.figures for row in rows], floors))
    for row in rows:
        left = [
            f"{counted(count, thing)} {told}"
            for count, thing, told in (
                (row.unread, "pair", "unread"),
                (row.missing, "pair", "without all verdicts; the same command asks again"),
                (row.one_sided, "trial", "without a scored one on the other side"),
            )
            if count
        ]
        if left:
            console.print(f"{row.condition}, {row.judge}: {', '.join(left)}", markup=False, soft_wrap=True)
    for line in calibration_lines(report):
        console.print(line, markup=False, soft_wrap=True)


def calibration_lines(report: "PreferenceReport") -> "Iterator[str]":
    """What each judge is worth beside experts, and the net preferences that are corrected by it."""
    from toolablate.reports import numbers

    for name, found in report.calibrations.items():
        compared = f"{found.accuracy:.1f} % as experts, the longer answer {found.longer_accuracy:.1f} %"
        yield f"{name} on LFQA-E: {compared}; sharpness {numbers.percent(found.sharpness)} %"
        for label, said in found.counts.items():
            yield f"  experts {label}: judge {', '.join(f'{verdict} {count}' for verdict, count in said.items())}"
        if not found.sees_ties:
            yield "  It does not recognise ties: its tie rates say nothing."
        if found.weak:
            yield f"  This judge is too weak to correct its net preference: {found.weak}."
            continue
        for row in report.rows:
            if row.judge == name:
                net, interval = numbers.signed(row.corrected_points), numbers.interval(row.corrected_ci95)
                yield f"  {row.condition}: corrected net preference {net} points ({interval})"


@click.command("run", epilog=options.example("toolablate lfqa-e run lfqa.toml --max-cost 5"))
@click.argument("plan", type=options.FilePath())
@options.max_cost
@options.seed("the bootstrap")
@options.as_json("all figures")
def lfqa_run_command(plan: Path, max_cost: float | None, seed: int, as_json: bool) -> None:
    """Ask judges and reward models for verdicts on LFQA-E's comparisons, and score them beside metrics that need none.

    PLAN is a TOML file of its own kind. Verdicts are kept in its file and not asked for again: Ctrl-C stops cleanly,
    and the same command resumes. A failed request is no verdict; an unread reply is asked again and finally wrong.
    Exits with 1 if verdicts are missing.

    \b
      comparisons = "lfqa_e_zh.json"
      verdicts = "runs/lfqa.verdicts.jsonl"
      limit = 200             # drawn at random, by seed; all without it
      context = "show"        # "omit" leaves a question's material out
      [[metrics]]
      kind = "pairs"          # both answers in one request, in both orders
      judge = "gpt"
      mode = "structured"     # direct, reasons, structured
      [[metrics]]
      kind = "points"         # 1 to 9, each answer by itself
      judge = "gpt"
      [[metrics]]
      kind = "trained"        # in the words that a judge was trained with
      judge = "autoj"
      form = "auto-j"         # auto-j, prometheus-2, rm-r1: how it ends
      template = "autoj.txt"  # with {question}, {reference}, {a}, {b}
      system = ""             # a file with its system message
      [[metrics]]
      kind = "reward"         # one number for each answer
      name = "rm"
      endpoint = "http://localhost:8000"
      api = "pooling"         # vLLM's pooling or score, TEI's predict
      [[judges]]              # as in plans
      provider = "openai"
      name = "gpt"
      model = "gpt-5"
    """
    from rich.console import Console

    from toolablate.benchmarks.lfqa_e.command import show
    from toolablate.benchmarks.lfqa_e.tables import lfqa_tables
    from toolablate.experiments.lfqa_e import load_lfqa_plan, run_lfqa
    from toolablate.experiments.pair_judging import work_told
    from toolablate.experiments.running.progress import RunProgress
    from toolablate.traces.commands import stopped_cleanly

    console = Console(stderr=True)
    with stopped_cleanly(), RunProgress(console) as progress:
        ran = run_lfqa(load_lfqa_plan(plan), max_cost=max_cost, progress=progress)
    for line in work_told(ran.work):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    show(lfqa_tables(ran.comparisons, ran.judged, seed=seed), as_json=as_json)
    if ran.missing:
        console.print(f"{ran.missing} without a verdict; the same command asks again.", style="yellow")
    raise SystemExit(1 if ran.missing else 0)
