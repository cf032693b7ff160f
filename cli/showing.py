"""Commands that show a store: its trials, its pages, its report."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from rich.console import Console

    from toolablate.traces.records import Score
    from toolablate.traces.store import Store
    from toolablate.viewer.keeping.serving import Reader
    from toolablate.viewer.keeping.shown_trials import ViewScope
    from toolablate.viewer.label_session import LabelSession

SHOWN_RESUMPTIONS = 20
OF_TRACES = ("attempt", "full", "whole")
OF_WHY = ("run", "scorer")
OF_SERVING = ("port", "no_open", "queue", "codebook", "open_labels")
OF_LISTS = ("question", "model", "condition", "verdict", "limit")


@click.command(
    "show",
    epilog=options.example(
        "toolablate show STORE --condition search --verdict wrong",
        "toolablate show STORE 3f2a91 --full",
        "toolablate show STORE 3f2a91 --why",
    ),
)
@click.argument("store", type=options.FilePath())
@click.argument("trial", required=False)
@click.option(
    "--attempt",
    type=click.IntRange(min=1),
    metavar="N",
    help="An earlier attempt at TRIAL instead of its current trace.",
)
@click.option("--full", is_flag=True, help="Show long texts of TRIAL whole.")
@click.option(
    "--why", is_flag=True, help="Explain TRIAL instead: what went wrong, how sure that is, and how it is known."
)
@click.option(
    "--run",
    metavar="ID",
    default="latest",
    show_default=True,
    help='With --why: the trials that one run called for: its id or tag, "latest", or "all" that the store holds.',
)
@click.option("--scorer", metavar="NAME", help="With --why: use the scores of this scorer; by default the run's.")
@click.option("--whole", is_flag=True, help="Show a replay together with the events before the fork.")
@click.option("--question", metavar="ID", help="List only trials of this question.")
@click.option("--model", metavar="NAME", help="List only trials of this model.")
@click.option("--condition", metavar="NAME", help="List only trials under this condition.")
@click.option(
    "--verdict",
    type=click.Choice(["correct", "partial", "wrong", "unparsed", "unscored", "failed"]),
    help="List only trials with this outcome.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", default=50, show_default=True, help="List at most so many."
)
@options.as_json("the list, the trace with its scores, or all evidence")
@click.pass_context
def show_command(
    context: click.Context,
    /,
    store: Path,
    trial: str | None,
    attempt: int | None,
    full: bool,
    why: bool,
    run: str,
    scorer: str | None,
    whole: bool,
    question: str | None,
    model: str | None,
    condition: str | None,
    verdict: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List the trials in STORE, or show the trace of TRIAL, given by the beginning of its id.

    Control characters and terminal escapes in texts of models and pages are made visible.

    --why explains a trial with tools on one page: the verdict; how we know, by runs with more and more taken away; how
    sure it is; what speaks against it; what else it may be; the command that would tell. Below is the trial step by
    step: its calls and results, with the early answers after each. Early answers and replays need `attribute
    --replay`. No model is asked. With the same --run and --scorer, `attribute` and `view` agree with it. A trial
    outside the run is compared with all trials of the store.
    """
    from toolablate.traces.store import Store

    _refuse_unused(context, named=trial is not None)
    if why and trial is not None:
        options.refuse_given(OF_TRACES, "goes without --why")
        _explain(store, trial, run, scorer, as_json=as_json)
        return
    options.refuse_given(OF_WHY, "is for --why")
    with Store(store) as opened:
        wanted = {"question": question, "model": model, "condition": condition}
        if trial is not None:
            _show_trace(opened, trial, attempt, full=full, whole=whole, as_json=as_json)
            return
        _list_trials(opened, {key: value for key, value in wanted.items() if value}, verdict, limit, as_json)


def _explain(store: Path, trial: str, run: str, scorer: str | None, *, as_json: bool) -> None:
    from rich.console import Console

    from toolablate.analysis.attribution.report import explained_json
    from toolablate.experiments.attribution.store_report import (
        Unexplained,
        read_explanation,
        unexplained_json,
        why_not,
    )
    from toolablate.reports.terminal.explanation import explanation_view

    found = read_explanation(store, trial, run=run, scorer=scorer)
    if isinstance(found, Unexplained):
        if as_json:
            click.echo(unexplained_json(found))
        else:
            for line in why_not(found, store):
                Console().print(line, markup=False, highlight=False, soft_wrap=True)
        return
    if as_json:
        click.echo(explained_json(found.explained))
        return
    Console().print(explanation_view(found), crop=False)


def _refuse_unused(context: click.Context, *, named: bool) -> None:
    """An option that is passed over would be taken for done."""
    from toolablate.traces.errors import InputError

    option = options.first_given(context, OF_LISTS if named else (*OF_TRACES, "why", *OF_WHY))
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
    from toolablate.reports.terminal.trace import trace_json, trace_view

    if as_json:
        trace = trace.model_copy(update={"events": conversation}) if whole else trace
        click.echo(trace_json(trace, scores))
        return
    from rich.console import Console

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
    from toolablate.traces.terminal_text import ID_CHARS, one_line

    found = store.resumptions(trial)
    if not found:
        return
    console.print(f"Forked into {counted(len(found), 'trial')}:")
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
    from toolablate.traces.store import TrialSummary

    def fits(seen: TrialSummary) -> bool:
        ended = "failed" if seen.outcome == "failed" else seen.verdict
        return (verdict is None or ended == verdict) and all(
            means(value, getattr(seen, key)) for key, value in wanted.items()
        )

    summaries = observe(store)
    for key, value in wanted.items():
        require_ended(f"--{key}", key, value, {getattr(seen, key) for seen in summaries})
    found = [seen for seen in summaries if fits(seen)]
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


@click.command(
    "view",
    epilog=options.example(
        "toolablate view STORE",
        "toolablate view STORE OTHER",
        "toolablate view STORE --queue queue.json --person ada",
        "toolablate view STORE --codebook codes.toml --person ada",
        "toolablate view STORE --bundle pages --where ending=wrong",
    ),
)
@click.argument("store", type=options.FilePath())
@click.argument("other", type=options.FilePath(), required=False)
@options.run("latest")
@options.scorer
@options.baseline
@click.option("--port", type=click.IntRange(1, 65_535), metavar="N", help="Serve there; by default where it is free.")
@click.option("--no-open", is_flag=True, help="Open no browser.")
@click.option(
    "--person", metavar="NAME", help="The name under which labels are kept; by default yours on this machine."
)
@click.option(
    "--codebook",
    metavar="NAME|FILE",
    default="mechanisms",
    show_default=True,
    help="Label by these codes: mechanisms, error_types (the seven of LPFQA), or a TOML file.",
)
@click.option(
    "--queue",
    type=options.FilePath(dir_okay=False),
    help="Label the trials that `toolablate labels queue` drew for this person; attributions are hidden everywhere.",
)
@click.option("--open-labels", is_flag=True, help="Show attributions while you label. By default they are hidden then.")
@click.option("--blind", is_flag=True, help="Hide attributions on all pages, also while you do not label.")
@click.option(
    "--bundle",
    type=options.FilePath(file_okay=False),
    metavar="DIR",
    help="Serve nothing: write the pages into this folder as files that need neither toolablate nor the store.",
)
@click.option(
    "--where",
    metavar="KEY=VALUE",
    multiple=True,
    help="With --bundle: only questions that fit, by a filter of the page Questions, such as ending=wrong or"
    " condition=python. May be given several times: several values of a key widen it, keys narrow.",
)
@click.option("--json", "as_json", is_flag=True, help='Print {"url": ...} on one line instead of a sentence.')
def view_command(
    store: Path,
    other: Path | None,
    run: str,
    scorer: str | None,
    baseline: str | None,
    port: int | None,
    no_open: bool,
    person: str | None,
    codebook: str,
    queue: Path | None,
    open_labels: bool,
    blind: bool,
    bundle: Path | None,
    where: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show STORE in a browser: scores, effects, questions, traces, and attributions.

    Serves this machine only, at the printed address, until Ctrl-C. Follows a run that writes the store. The pages'
    index is kept in `~/.cache/toolablate/view` and can be deleted.

    With OTHER a page more sets the stores beside each other, as `compare STORE --against OTHER` does, and leads to the
    trials of each flip side by side.

    --bundle writes the same pages as files, to be sent or put on a web server: DIR/index.html opens in any browser.
    """
    from toolablate.viewer.keeping.serving import (
        Reader,
        address_shown,
        listening,
        require_view,
        serve,
        user_name,
    )
    from toolablate.viewer.keeping.shown_trials import ViewScope

    require_view()
    scope, name = ViewScope(store, run, scorer, baseline), user_name() if person is None else person
    reader = Reader(
        name, blind or (queue is not None and not open_labels), _session(store, name, codebook, queue, open_labels)
    )
    if bundle is not None:
        options.refuse_given(OF_SERVING, "is for serving, and --bundle serves nothing")
        options.refuse_given(("other",), "goes without --bundle")
        _bundle(scope, bundle, where, reader, as_json=as_json)
        return
    options.refuse_given(("where",), "is for --bundle: pages have filters of their own")
    with listening(port or 0) as listener, address_shown(open_it=not no_open, as_json=as_json) as ready:
        serve(scope, listener, reader, ready, lambda text: click.echo(text, err=True), other=other)


def _bundle(scope: "ViewScope", folder: Path, where: tuple[str, ...], reader: "Reader", *, as_json: bool) -> None:
    import json

    from toolablate.reports.plots.drawing import require_matplotlib
    from toolablate.viewer.bundle.writing import write_bundle

    require_matplotlib("view --bundle")
    made = write_bundle(scope, folder, where, reader, lambda text: click.echo(text, err=True))
    if as_json:
        click.echo(json.dumps({"bundle": str(folder), "pages": made.pages, "bytes": made.size, "trials": made.trials}))
        return
    click.echo(f"{folder / 'index.html'}: {made.pages:,} pages of {made.trials:,} trials, {made.size / 1e6:,.1f} MB")


def _session(store: Path, person: str, codebook: str, queue: Path | None, open_labels: bool) -> "LabelSession":
    from toolablate.analysis.codebooks import codebook as codebooks
    from toolablate.analysis.labels import queue as label_queue
    from toolablate.traces.store import Store
    from toolablate.viewer.label_session import LabelSession

    drawn = None if queue is None else label_queue.read_queue(queue)
    if drawn is not None:
        with Store(store) as opened:
            label_queue.require_reader(drawn, person, opened.runs()[0].id if opened.runs() else "")
    return LabelSession(codebooks.codebook(codebook), drawn, open_labels)


@click.command(
    "report",
    epilog=options.example(
        "toolablate report STORE -o report.html",
        "toolablate report STORE -o report.html --trial 3f2a91 --diff 3f2a91,77c0de",
        "toolablate report STORE -o report.md --figures figures",
    ),
)
@click.argument("store", type=options.FilePath())
@click.option(
    "-o",
    "--output",
    type=options.FilePath(dir_okay=False),
    help="Where the report goes: .html (one file), .md (with its figures in a folder beside it) or .tex (tables).",
)
@click.option("--figures", type=options.FilePath(file_okay=False), help="Also put every figure there, as SVG and PNG.")
@options.run("latest")
@options.baseline
@options.scorer
@click.option("--title", metavar="TEXT", default="", help="By default the name of the store.")
@click.option("--trial", "trials", metavar="ID", multiple=True, help="Show this trace. May be given several times.")
@click.option(
    "--diff",
    "diffs",
    metavar="LEFT,RIGHT",
    multiple=True,
    help="Show these two trials side by side. May be given several times.",
)
@click.option(
    "--traces",
    type=click.IntRange(min=0),
    metavar="N",
    help="Show so many telling flips, each also beside a trial of the baseline.  [default: 4, or 0 with --trial or"
    " --diff]",
)
@click.option("--no-traces", is_flag=True, help="Show no trace but those that are named.")
@click.option("--alone", is_flag=True, help="Show what --trial and --diff name, and no tables and figures. HTML only.")
@options.seed("the bootstrap and permutations")
def report_command(
    store: Path,
    output: Path | None,
    figures: Path | None,
    run: str,
    baseline: str | None,
    scorer: str | None,
    title: str,
    trials: tuple[str, ...],
    diffs: tuple[str, ...],
    traces: int | None,
    no_traces: bool,
    alone: bool,
    seed: int,
) -> None:
    """Write a report on STORE into a file that can be sent.

    Scores, effects, flips, mechanisms and domains in tables and figures, with notes on reading them. HTML also has
    traces and side-by-side pairs: by default, for each mechanism, the most certain of the questions that tools turned
    from right to wrong. An HTML report needs no other file and runs no scripts. The same store gives the same bytes.
    """
    from toolablate.traces.commands import warn
    from toolablate.traces.errors import InputError
    from toolablate.viewer.reporting import make_report

    if no_traces and traces:
        raise InputError("--traces and --no-traces exclude each other", hint="Leave one out.", code="usage")
    written, warning = make_report(
        store,
        output,
        figures,
        alone=alone,
        traces=trials,
        beside=_pairs(diffs),
        telling=0 if no_traces else traces,
        title=title,
        run=run,
        scorer=scorer,
        baseline=baseline,
        seed=seed,
    )
    warn(warning)
    for path in written:
        click.echo(f"{path} ({path.stat().st_size:,} bytes)")


def _pairs(diffs: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    from toolablate.traces.errors import InputError

    pairs = []
    for pair in diffs:
        left, comma, right = (each.strip() for each in pair.partition(","))
        if not (left and comma and right):
            raise InputError(f"--diff: found {pair!r}", hint="Name two trials: --diff LEFT,RIGHT", code="usage")
        pairs.append((left, right))
    return tuple(pairs)
