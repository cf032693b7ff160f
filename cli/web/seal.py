from pathlib import Path

import click

from toolablate.traces import options


@click.command("seal")
@click.argument("archive", type=options.FilePath())
@options.as_json("the seal")
def command(archive: Path, as_json: bool) -> None:
    """Close ARCHIVE for good, and print the root digest by which every run that uses it names it.

    A sealed archive can be replayed, copied and shared. It can only be extended by another one: see overlay.
    """
    from datetime import UTC, datetime

    from rich.console import Console

    from toolablate.cli.web.shown import print_json, print_seal
    from toolablate.experiments.world.recording import seal_archive, shown_progress

    began = datetime.now(UTC)
    with shown_progress(Console(stderr=True), "reading pages") as tell:
        sealed = seal_archive(archive, tell=tell)
    if as_json:
        print_json(sealed)
    else:
        print_seal(str(archive), sealed, already=sealed.sealed_at < began)
