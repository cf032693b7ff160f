from pathlib import Path

import click

from toolablate.traces import options


@click.command("info")
@click.argument("archive", type=options.FilePath())
@options.as_json("what is in it")
def command(archive: Path, as_json: bool) -> None:
    """Say what is in ARCHIVE: how many of what, from which hosts, captured when, and whether it is sealed."""
    from toolablate.cli.web.shown import print_info, print_json
    from toolablate.tools.archive import info

    found = info(archive)
    if as_json:
        print_json(found)
    else:
        print_info(found)
