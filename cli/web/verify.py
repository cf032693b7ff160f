from pathlib import Path

import click

from toolablate.traces import options


@click.command("verify")
@click.argument("archive", type=options.FilePath())
@options.as_json("the report")
def command(archive: Path, as_json: bool) -> None:
    """Check every record of ARCHIVE, its index and, if it is sealed, its root against their digests.

    Exits with 1 where something is damaged, with 2 where there is no archive, or not the one that it lies over.
    """
    from toolablate.cli.web.shown import print_json, print_verification
    from toolablate.tools.archive import verify

    report = verify(archive)
    if as_json:
        print_json(report)
    else:
        print_verification(report)
    raise SystemExit(1 if report.problems else 0)
