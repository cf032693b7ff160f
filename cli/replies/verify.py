from pathlib import Path

import click

from toolablate.traces import options


@click.command("verify")
@click.argument("file", type=options.FilePath())
@options.as_json("the report")
def command(file: Path, as_json: bool) -> None:
    """Check every text and every reply in FILE against its digest, and each key against what was asked.

    Exits with 1 where something is damaged, with 2 where there are no recorded replies.
    """
    import json
    from dataclasses import asdict

    from toolablate.agents.replies import verify
    from toolablate.traces.plain import plain_text

    report = verify(file)
    if as_json:
        click.echo(json.dumps(asdict(report), indent=2))
    else:
        click.echo(plain_text(f"{report.path}: found {report.replies:,} replies and {report.texts:,} texts whole"))
        for problem in report.problems:
            click.echo(plain_text(f"  damaged  {problem.where}: {problem.what}"))
        click.echo("This file is damaged." if report.problems else f"Nothing is damaged. root digest: {report.root}")
    raise SystemExit(1 if report.problems else 0)
