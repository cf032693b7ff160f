from pathlib import Path

import click


@click.command("verify")
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(store: Path, as_json: bool) -> None:
    """Check the digests, references and completeness of STORE.

    Exits with 1 where something is damaged. Trials that are planned and not finished are information, not damage.
    """
    import json
    from dataclasses import asdict

    from toolablate.traces.store import verify

    report = verify(store)
    if as_json:
        click.echo(json.dumps(asdict(report), indent=2))
    else:
        from rich.console import Console

        from toolablate.traces.terminal import verify_view

        Console().print(verify_view(report))
    raise SystemExit(0 if report.ok else 1)
