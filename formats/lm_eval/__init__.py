"""Samples that lm-evaluation-harness logged, imported."""

from functools import partial
from pathlib import Path

import click

from toolablate.traces import options


@click.command(
    "lm-eval",
    epilog=options.example("toolablate import lm-eval samples_task_time.jsonl --store imports.sqlite"),
    short_help="Bring in samples that lm-evaluation-harness logged.",
)
@options.imported
@click.option("--model", metavar="NAME", help="What to call the model; by default what the results beside a file say.")
@click.option(
    "--metric",
    metavar="NAME",
    help="Show this metric in tables, as METRIC,FILTER where a task has filters; by default the file's first.",
)
@options.as_json("what was imported")
def import_command(
    files: tuple[Path, ...],
    store: Path,
    condition: str | None,
    model: str | None,
    metric: str | None,
    as_json: bool,
) -> None:
    """Bring FILES that lm-evaluation-harness wrote for --log_samples into a store: samples_TASK_TIME.jsonl.

    What the results_TIME.json beside a file say of model and condition is read along. A document of a task is one
    question, whatever prompt it was put into. What is there already is not imported twice.
    """
    from toolablate.formats.importing import import_and_tell
    from toolablate.formats.lm_eval.samples import is_results, read_log
    from toolablate.traces.commands import stopped_cleanly

    samples = [path for path in files if not is_results(path)]
    read = partial(read_log, model=model)
    with stopped_cleanly():
        click.echo(import_and_tell(read, samples, store, condition=condition, scorer=metric, as_json=as_json))
