from pathlib import Path

import click

from toolablate.traces import options


@click.command("overlay")
@click.argument("archive", type=options.FilePath())
@click.argument("base", type=options.FilePath())
@options.as_json("what was made")
def command(archive: Path, base: Path, as_json: bool) -> None:
    """Begin ARCHIVE, a new one that holds what is in BASE, a sealed one, and whatever is recorded into it besides.

    BASE is left as it is and has to stay where it is. Seal ARCHIVE in its turn to replay it.
    """
    from toolablate.cli.web.shown import print_info, print_json
    from toolablate.tools.archive import create_overlay, info

    create_overlay(archive, base)
    made = info(archive)
    if as_json:
        print_json(made)
    else:
        print_info(made)
