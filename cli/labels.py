from pathlib import Path

import click

from toolablate.traces import options


@click.command("labels")
@click.argument("store", type=options.FilePath())
@click.option("--person", "people", metavar="NAME", multiple=True, help="Only theirs. May be given several times.")
@options.scorer
@options.as_json("labels and agreement")
@options.csv("the labels")
def command(store: Path, people: tuple[str, ...], scorer: str | None, as_json: bool, csv: Path | None) -> None:
    """Say what people hold for the causes of STORE's failures, and how far they agree.

    Labels are given on the page of a trial in `toolablate view`. Each person's last word on a trial counts, and is held
    against what is attributed to the trial now, by each method, and against the words of others: Cohen's kappa over
    mechanisms, with a 95 % interval from a bootstrap over questions. Labels given blind, while the attribution was
    hidden, stand apart, since who sees it first tends to agree with it. Nobody is asked anything.
    """
    from rich.console import Console

    from toolablate.analysis.labelling import labels_csv, labels_json
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
