from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from toolablate.viewer.reporting import Wanted

TELLING = 4


@click.command("report")
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
    help=f"Show so many telling flips, each also beside a trial of the baseline.  [default: {TELLING}, or 0 with"
    " --trial or --diff]",
)
@click.option("--no-traces", is_flag=True, help="Show no trace but those that are named.")
@options.seed("the bootstrap and permutations")
def command(
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
    seed: int,
) -> None:
    """Write what STORE holds and what it means into a file that can be sent.

    Scores, effects, flips, mechanisms and domains, in tables and figures, and how to read them; in HTML also some
    traces, and pairs of them side by side: by default questions that tools turned from right to wrong, of each
    mechanism those that are surest. An HTML report needs no other file and runs nothing. The same store gives the same
    bytes.

    \b
      toolablate report STORE -o report.html
      toolablate report STORE -o report.html --trial 3f2a91 --diff 3f2a91,77c0de
      toolablate report STORE -o report.md --figures figures
    """
    from toolablate.reports.plots.drawing import boxes_note, require_matplotlib
    from toolablate.traces.commands import warn
    from toolablate.traces.errors import InputError
    from toolablate.viewer.reporting import read_for_report, refuse_output, write_figures, write_report

    if output is None and figures is None:
        raise InputError("--output: where to?", hint="-o report.html, .md or .tex; or --figures FOLDER", code="usage")
    if output is not None:
        refuse_output(output)
    if no_traces and traces:
        raise InputError("--traces and --no-traces exclude each other", hint="Leave one out.", code="usage")
    if output is None or output.suffix.lower() != ".tex":
        require_matplotlib("report")
    wanted = _wanted(trials, diffs, 0 if no_traces else traces, html=output is not None and _is_html(output))
    report = read_for_report(store, wanted, title=title, run=run, scorer=scorer, baseline=baseline, seed=seed)
    written = [] if output is None else write_report(report, output)
    if figures is not None:
        drawn, missing = write_figures(report, figures)
        written += drawn
        warn(boxes_note(missing))
    for path in written:
        click.echo(f"{path} ({path.stat().st_size:,} bytes)")


def _is_html(output: Path) -> bool:
    return output.suffix.lower() == ".html"


def _wanted(trials: tuple[str, ...], diffs: tuple[str, ...], traces: int | None, *, html: bool) -> "Wanted":
    from toolablate.traces.errors import InputError
    from toolablate.viewer.reporting import Wanted

    if not html and (trials or diffs or traces):
        raise InputError(
            "--trial, --diff and --traces: traces are shown in HTML alone", hint="-o report.html", code="usage"
        )
    pairs = []
    for pair in diffs:
        left, comma, right = (each.strip() for each in pair.partition(","))
        if not (left and comma and right):
            raise InputError(f"--diff: found {pair!r}", hint="Name two trials: --diff LEFT,RIGHT", code="usage")
        pairs.append((left, right))
    named = bool(trials or diffs)
    telling = (0 if named else TELLING) if traces is None else traces
    return Wanted(traces=trials, beside=tuple(pairs), telling=telling if html else 0)
