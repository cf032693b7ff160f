from pathlib import Path

import click

from toolablate.traces import options


@click.command("status")
@click.argument("store", type=options.FilePath())
@options.as_json("it")
def command(store: Path, as_json: bool) -> None:
    """Say how far the trials in STORE are, and who runs them.

    Works beside a run. The rate is that of the processes that run now, each since it began; failed trials are run again
    by the next run of their plan, and are not counted in the time that is left.
    """
    from toolablate.traces.store import standing

    found = standing(store)
    if as_json:
        import json
        from dataclasses import asdict

        rates = {"ended_per_minute": found.ended_per_minute, "seconds_left": found.seconds_left}
        click.echo(json.dumps({**asdict(found), **rates}, indent=2, default=lambda time: time.isoformat()))
        return
    from rich.console import Console

    from toolablate.reports.terminal.status import status_view

    Console().print(status_view(found))
