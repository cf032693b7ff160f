from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from rich.console import Console

    from toolablate.traces.records import Score
    from toolablate.traces.store import Store

SHOWN_RESUMPTIONS = 20
OF_TRACES = ("attempt", "full", "whole")
OF_LISTS = ("question", "model", "condition", "verdict", "limit")


@click.command("show")
@click.argument("store", type=options.FilePath())
@click.argument("trial", required=False)
@click.option(
    "--attempt",
    type=click.IntRange(min=1),
    metavar="N",
    help="An earlier attempt at TRIAL instead of its current trace.",
)
@click.option("--full", is_flag=True, help="Show long texts of TRIAL whole.")
@click.option("--whole", is_flag=True, help="Of a replay, show what came before it was taken up as well.")
@click.option("--question", metavar="ID", help="List only trials of this question.")
@click.option("--model", metavar="NAME", help="List only trials of this model.")
@click.option("--condition", metavar="NAME", help="List only trials under this condition.")
@click.option(
    "--verdict",
    type=click.Choice(["correct", "partial", "wrong", "unparsed", "unscored", "failed"]),
    help="List only trials that ended so.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", default=50, show_default=True, help="List at most so many."
)
@options.as_json("the list, or the trace with its scores,")
@click.pass_context
def command(
    context: click.Context,
    /,
    store: Path,
    trial: str | None,
    attempt: int | None,
    full: bool,
    whole: bool,
    question: str | None,
    model: str | None,
    condition: str | None,
    verdict: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List the trials in STORE, or show the trace of TRIAL, named by the beginning of its id.

    Text of models and pages is shown as inert text: control characters and terminal escapes are made visible.

    \b
      toolablate show STORE --condition search --verdict wrong
      toolablate show STORE 3f2a91 --full
    """
    from toolablate.traces.store import Store

    _refuse_unused(context, named=trial is not None)
    with Store(store) as opened:
        wanted = {"question": question, "model": model, "condition": condition}
        if trial is not None:
            _show_trace(opened, trial, attempt, full=full, whole=whole, as_json=as_json)
            return
        _list_trials(opened, {key: value for key, value in wanted.items() if value}, verdict, limit, as_json)


def _refuse_unused(context: click.Context, *, named: bool) -> None:
    """An option that is passed over would be taken for done."""
    from toolablate.traces.errors import InputError

    option = options.first_given(context, OF_LISTS if named else OF_TRACES)
    if option is not None:
        raise InputError(
            f"{option} chooses what is listed, and a TRIAL was named" if named else f"{option} needs a TRIAL",
            hint=f"leave out {option}, or the TRIAL" if named else "name one by the beginning of its id",
            code="usage",
        )


def _show_trace(store: "Store", trial: str, attempt: int | None, *, full: bool, whole: bool, as_json: bool) -> None:
    trace = store.trace(trial, attempt=attempt)
    scores = () if attempt else _scores(store, trace.trial.id)
    conversation = store.conversation(trace.trial.id, attempt=trace.attempt) if whole else ()
    if as_json:
        import json

        trace = trace.model_copy(update={"events": conversation}) if whole else trace
        content = json.loads(trace.to_json()) | {"scores": [json.loads(score.to_json()) for score in scores]}
        click.echo(json.dumps(content, ensure_ascii=False))
        return
    from rich.console import Console

    from toolablate.reports.terminal.trace import trace_view

    view = trace_view(
        trace,
        question=store.question(trace.trial.question),
        model=store.model(trace.trial.model),
        condition=store.condition(trace.trial.condition),
        scores=scores,
        before=conversation[: len(conversation) - len(trace.events)],
        full=full,
    )
    console = Console()
    console.print(view)
    _print_resumptions(store, trace.trial.id, console)


def _print_resumptions(store: "Store", trial: str, console: "Console") -> None:
    """The counterfactuals of a trial, which no table lists."""
    from rich.text import Text

    from toolablate.reports.numbers import counted
    from toolablate.traces.plain import ID_CHARS, one_line

    found = store.resumptions(trial)
    if not found:
        return
    console.print(f"Taken up again in {counted(len(found), 'trial')}:")
    for identity, condition in list(found.items())[:SHOWN_RESUMPTIONS]:
        console.print(Text(f"  {identity[:ID_CHARS]}  {one_line(condition.name)}"), soft_wrap=True)
    if len(found) > SHOWN_RESUMPTIONS:
        console.print(f"  and {len(found) - SHOWN_RESUMPTIONS} more")


def _scores(store: "Store", trial: str) -> list["Score"]:
    """Those that the latest run compares by come first."""
    runs = store.runs()
    counting = runs[-1].scorers if runs else ()
    return sorted(store.scores(trial), key=lambda score: (score.scorer not in counting, score.scorer))


def _list_trials(store: "Store", wanted: dict[str, str], verdict: str | None, limit: int, as_json: bool) -> None:
    from itertools import islice

    from toolablate.analysis.from_store import means, observe, require_ended
    from toolablate.traces.store import Observation

    def fits(seen: Observation) -> bool:
        ended = "failed" if seen.outcome == "failed" else seen.verdict
        return (verdict is None or ended == verdict) and all(
            means(value, getattr(seen, key)) for key, value in wanted.items()
        )

    observations = observe(store)
    for key, value in wanted.items():
        require_ended(f"--{key}", key, value, {getattr(seen, key) for seen in observations})
    found = [seen for seen in observations if fits(seen)]
    shown = list(islice(found, limit))
    if as_json:
        import json
        from dataclasses import asdict

        click.echo(json.dumps({"trials": [asdict(seen) for seen in shown]}, ensure_ascii=False, indent=2))
        return
    from rich.console import Console
    from rich.text import Text

    from toolablate.reports.numbers import counted
    from toolablate.reports.terminal.status import counts_table
    from toolablate.reports.terminal.trace import trials_table

    console = Console()
    console.print(counts_table(store.counts()))
    console.print(trials_table(shown))
    more = f"; {len(found) - len(shown)} more, see --limit and the filters" if len(found) > len(shown) else ""
    console.print(f"{counted(len(shown), 'trial')}{more}.", soft_wrap=True)
    if shown:
        console.print(Text(f"Read one: toolablate show {store.path} TRIAL"), soft_wrap=True)
