"""Commands that compare the conditions of a store, its scorers and its labels."""

from dataclasses import replace
from pathlib import Path

import click

from toolablate.traces import options


@click.command(
    "compare",
    epilog=options.example(
        "toolablate compare STORE --by domain --csv effects.csv",
        "toolablate compare STORE --by metadata.field --by domain,kind",
        "toolablate compare STORE --models thinking-off thinking-on",
        "toolablate compare STORE --against OTHER",
        "toolablate compare STORE --flips",
        "toolablate compare STORE --ladder --plot ladder.svg",
    ),
)
@click.argument("store", type=options.FilePath())
@options.baseline
@click.option(
    "--by",
    metavar="KEY",
    multiple=True,
    help="Also compare within each domain, difficulty, language, kind (how a question is answered) or value of"
    " metadata.KEY. Keys joined by commas are crossed: domain,kind. May be given several times.",
)
@click.option(
    "--flips",
    "as_flips",
    is_flag=True,
    help="List the questions that flipped, with their trials, instead; without --by, --harm and --csv.",
)
@click.option("--ladder", "as_ladder", is_flag=True, help="Show the waterfall from no tools to real ones instead.")
@options.run("latest")
@options.scorer
@click.option("--harm", is_flag=True, help="Also show whom conditions harm and help, as far as repeats tell.")
@options.seed("the bootstrap and permutations")
@click.option(
    "--models",
    "two_models",
    nargs=2,
    metavar="A B",
    help="Compare model B with model A under each condition, instead of conditions with a baseline.",
)
@click.option(
    "--against",
    type=options.FilePath(),
    metavar="OTHER",
    help="Compare this store with STORE under each condition that both have, instead of conditions with a baseline.",
)
@click.option(
    "--model",
    "models",
    metavar="NAME",
    multiple=True,
    help="With --ladder: only this model. May be given several times.",
)
@click.option(
    "--toolset",
    "toolsets",
    metavar="NAME",
    multiple=True,
    help="With --ladder: only the ladder of this condition. May be given several times.",
)
@options.as_json("the comparisons, the flips or the waterfalls")
@options.csv("the comparisons, or the steps of the waterfalls,")
@click.option(
    "--plot",
    type=options.FilePath(dir_okay=False),
    help="With --ladder: also draw the waterfalls into a file: .svg, .png or .pdf.",
)
def compare_command(
    store: Path,
    baseline: str | None,
    by: tuple[str, ...],
    as_flips: bool,
    as_ladder: bool,
    run: str,
    scorer: str | None,
    harm: bool,
    seed: int,
    two_models: tuple[str, str] | None,
    against: Path | None,
    models: tuple[str, ...],
    toolsets: tuple[str, ...],
    as_json: bool,
    csv: Path | None,
    plot: Path | None,
) -> None:
    """Compare the conditions in STORE with a baseline, paired over questions.

    First the scores of all models under all conditions. Then, per model and condition: the score; the difference in
    points and relative, with a 95 % interval (paired bootstrap over questions); a p-value (sign-flip permutation test),
    raw and corrected for all comparisons shown; right->wrong and wrong->right flips beside the noise floor; the minimum
    detectable effect; tokens and cost. With repeats, --harm adds bounds on the shares of trials harmed and helped (JSON
    and CSV always have them).
    If a replayed web had gaps or leaked answers, their rates by condition follow. A warning counts the trials in which
    a model called tools that it was not offered, and a note those whose question was cut to `input_tokens`.

    --models A B compares two models in the same way, such as one with thinking on and off: B with A on the same
    questions, under each condition that both have.

    --against OTHER compares two stores in the same way, such as before and after a new version of a model or of your
    tools: OTHER with STORE, on the questions that ask the same, under conditions of one name. What else differs between
    them is said first. With --models A B, model B of OTHER is compared with model A of STORE.

    --ladder shows the contribution of each factor between no tools and the real ones instead. A ladder is a condition
    with tools and its arms: none, scaffold (its prompt), offered (tools that cannot be called), sham (calls that return
    nothing), placebo (results of another question) and the real tools. Contrasts of adjacent arms use the questions
    scored in all arms, so they sum to the total. If the arms without prompt were run, Shapley values show how much the
    order of factors matters.
    """
    if as_ladder:
        options.refuse_given(("baseline", "by", "as_flips", "harm", "two_models", "against"), "goes without --ladder")
        _compare_ladders(store, run, models, toolsets, scorer, seed, as_json=as_json, csv=csv, plot=plot)
        return
    options.refuse_given(("models", "toolsets", "plot"), "is for --ladder")
    from rich.console import Console

    from toolablate.api.results import compare
    from toolablate.traces.commands import warn
    from toolablate.traces.errors import InputError
    from toolablate.traces.output import export

    if as_flips and (by or csv or harm):
        raise InputError("--flips goes without --by, --harm and --csv", code="usage")
    if against is not None:
        _compare_stores(
            *(store, against, by, run, scorer, seed, two_models),
            as_flips=as_flips,
            show_harm=harm,
            as_json=as_json,
            csv=csv,
        )
        return
    if two_models:
        options.refuse_given(("baseline", "as_flips"), "goes without --models")
    if as_flips:
        _list_flips(store, baseline, run, scorer, as_json=as_json)
        return
    found = compare(
        store,
        baseline=baseline,
        by=by,
        run=run,
        scorer=scorer,
        seed=seed,
        harm=harm or as_json or csv is not None,
        models=two_models,
    )
    warn(found.warning)
    if csv is not None:
        export(found.to_csv(), csv, "--csv")
    if as_json:
        click.echo(found.to_json())
    else:
        replace(found, harm=harm).print(Console())


def _list_flips(store: Path, baseline: str | None, run: str, scorer: str | None, *, as_json: bool) -> None:
    from rich.console import Console

    from toolablate.analysis.flips import flips_json
    from toolablate.analysis.from_store import read_paired
    from toolablate.reports.terminal.comparison import flips_table
    from toolablate.traces.commands import warn

    paired = read_paired(store, baseline=baseline, run=run, scorer=scorer)
    warn(paired.warning)
    flips = paired.flips()
    if as_json:
        click.echo(flips_json(flips, paired.floors()))
    else:
        Console().print(flips_table(flips, paired.floors()))


def _compare_stores(
    here: Path,
    there: Path,
    by: tuple[str, ...],
    run: str,
    scorer: str | None,
    seed: int,
    models: tuple[str, str] | None,
    *,
    as_flips: bool,
    show_harm: bool,
    as_json: bool,
    csv: Path | None,
) -> None:
    from rich.console import Console
    from rich.text import Text

    from toolablate.analysis.comparison import comparisons_csv
    from toolablate.analysis.flips import flips_json
    from toolablate.analysis.two_stores import read_two_stores, two_stores_json
    from toolablate.reports.terminal.comparison import comparison_table, flips_table
    from toolablate.traces.errors import InputError
    from toolablate.traces.output import export

    options.refuse_given(("baseline",), "goes without --against")
    if run not in ("latest", "all"):
        raise InputError("--run: with --against it is latest or all, of each store", code="usage")
    found = read_two_stores(here, there, run=run, scorer=scorer, models=models)
    if as_flips and as_json:
        click.echo(flips_json(found.flips()))
        return
    console = Console()
    if not as_json:
        for sentence in found.differences:
            console.print(Text(sentence, style="yellow"))
    if as_flips:
        console.print(flips_table(found.flips()))
        return
    comparisons = found.compare(by=by, seed=seed, harm=show_harm or as_json or csv is not None)
    if csv is not None:
        export(comparisons_csv(comparisons, of_models=True), csv, "--csv")
    if as_json:
        click.echo(two_stores_json(found, comparisons))
        return
    console.print(comparison_table(comparisons, show_harm=show_harm, of_models=True))


def _compare_ladders(
    store: Path,
    run: str,
    models: tuple[str, ...],
    toolsets: tuple[str, ...],
    scorer: str | None,
    seed: int,
    *,
    as_json: bool,
    csv: Path | None,
    plot: Path | None,
) -> None:
    from rich.console import Console

    from toolablate.analysis.ladder import read_ladders, waterfalls_csv, waterfalls_json
    from toolablate.analysis.misses import refused_calls
    from toolablate.reports.terminal.problems import refused_view
    from toolablate.reports.terminal.waterfall import waterfalls_view
    from toolablate.traces.commands import tell_left_out, warn
    from toolablate.traces.output import export, make_folder, refuse_store

    if plot is not None:
        from toolablate.reports.plots.drawing import require_plots

        require_plots(plot)
        refuse_store(plot, "--plot")
    climbed = read_ladders(store, run=run, scorer=scorer, models=models, toolsets=toolsets)
    warn(climbed.warning)
    found = climbed.waterfalls(seed=seed)
    if csv is not None:
        export(waterfalls_csv(found), csv, "--csv")
    if plot is not None:
        from toolablate.reports.plots.drawing import boxes_note
        from toolablate.reports.plots.waterfall import draw_waterfalls

        make_folder(plot, "--plot")
        warn(boxes_note(draw_waterfalls(found, plot)))
    if as_json:
        click.echo(waterfalls_json(found))
        return
    console = Console()
    console.print(waterfalls_view(found))
    if (warning := refused_view(refused_calls(climbed.summaries))) is not None:
        console.print(warning)
    tell_left_out(console, climbed.left_out)


@click.command(
    "agreement",
    epilog=options.example("toolablate agreement STORE --disagreements", "toolablate agreement STORE --labels"),
)
@click.argument("store", type=options.FilePath())
@options.run("latest")
@click.option(
    "--scorer", "scorers", metavar="NAME", multiple=True, help="Only this scorer; given twice or more. By default all."
)
@click.option("--disagreements", "as_list", is_flag=True, help="List the trials that two scorers differ on, instead.")
@click.option("--labels", "as_labels", is_flag=True, help="Show people's labels of the causes of failures, instead.")
@click.option(
    "--person", "people", metavar="NAME", multiple=True, help="With --labels: only theirs. May be given several times."
)
@options.as_json("the figures, the trials or the labels")
@click.option("--csv", type=options.FilePath(dir_okay=False), help="With --labels: also write them to a CSV file.")
def agreement_command(
    store: Path,
    run: str,
    scorers: tuple[str, ...],
    as_list: bool,
    as_labels: bool,
    people: tuple[str, ...],
    as_json: bool,
    csv: Path | None,
) -> None:
    """Agreement of the scorers of STORE on the same trials, and the noise of a judge's grades.

    Per pair of scorers, model and condition: raw agreement, Cohen's kappa, each scorer's accuracy, and whether the
    effect of a condition depends on the scorer, with 95 % intervals (bootstrap over questions). Per judge: how often it
    grades the same answer differently (from `again` under [judging], or trials of one question with the same text), and
    what that noise alone does to a comparison.

    --labels compares the causes of failures that people gave in `toolablate view` with the attribution by each method,
    with judges and with other people's labels: Cohen's kappa of two and Krippendorff's alpha of all, with intervals of
    95 % (bootstrap over questions). Each person's last label of a trial counts. Blind labels, given while the
    attribution was hidden, are counted apart: an attribution shown first raises agreement. Labels from a queue
    (`toolablate labels queue`) also give the share of all wrong trials on which both agree.
    """
    if as_labels:
        options.refuse_given(("run", "as_list"), "goes without --labels")
        if len(scorers) > 1:
            raise click.UsageError("--labels takes one --scorer")
        _show_labels(store, people, scorers[0] if scorers else None, as_json=as_json, csv=csv)
        return
    options.refuse_given(("people", "csv"), "is for --labels")
    from rich.console import Console
    from rich.text import Text

    from toolablate.analysis.agreement.report import agreement_json, disagreements_json, read_graded
    from toolablate.reports.terminal.agreement import agreement_view, disagreements_table
    from toolablate.traces.commands import tell_left_out

    graded = read_graded(store, run=run, scorers=scorers, with_answers=not as_list)
    console = Console()
    if as_list:
        found = graded.disagreements()
        if as_json:
            click.echo(disagreements_json(found))
            return
        console.print(disagreements_table(found))
        if found:
            console.print(Text(f"Read one: toolablate show {store} TRIAL"), soft_wrap=True)
    elif as_json:
        click.echo(agreement_json(graded.report()))
        return
    else:
        console.print(agreement_view(graded.report()))
    tell_left_out(console, graded.left_out)


def _show_labels(store: Path, people: tuple[str, ...], scorer: str | None, *, as_json: bool, csv: Path | None) -> None:
    from rich.console import Console

    from toolablate.analysis.labels.report import labels_csv, labels_json
    from toolablate.experiments.attribution.store_report import read_labels
    from toolablate.reports.terminal.agreement import labels_view
    from toolablate.traces.output import export

    report = read_labels(store, people=people, scorer=scorer)
    if csv is not None:
        export(labels_csv(report.held), csv, "--csv")
    if as_json:
        click.echo(labels_json(report))
    else:
        Console().print(labels_view(report, str(store)))
