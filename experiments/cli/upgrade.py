from pathlib import Path

import click

from toolablate.experiments.cli import options


@click.command("upgrade")
@click.argument("store", type=options.FilePath())
def command(store: Path) -> None:
    """Bring STORE up to date, where an older toolablate wrote it.

    `run` does so too; what only reads says that it is needed. Nothing is lost, but an older toolablate cannot read the
    store any more: copy it before, if one has to.
    """
    from toolablate.experiments.world.world import bring_up_to_date
    from toolablate.traces.store import Store

    if bring_up_to_date(store):
        click.echo(f"{store} is brought up to date")
        return
    Store(store).close()
    click.echo(f"{store} was up to date already")
