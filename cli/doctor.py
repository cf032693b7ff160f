from pathlib import Path

import click

from toolablate.traces import options


@click.command("doctor")
@click.argument("plan", required=False, type=options.FilePath())
@options.as_json("the findings")
def command(plan: Path | None, as_json: bool) -> None:
    """Say what works on this machine, and how to get the rest; with PLAN, what that plan needs.

    Each sandbox backend is tried by starting a kernel in it. Exits with 1 if something needed is missing.
    """
    import json
    from dataclasses import asdict

    from toolablate.experiments.doctor import examine, fit_to_run
    from toolablate.experiments.plans.plan import find_modules_beside, load_plan

    if plan:
        find_modules_beside(plan)
    loaded = load_plan(plan)[0] if plan else None
    findings = examine(loaded)
    if as_json:
        click.echo(json.dumps({"findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        from toolablate.traces.plain import inert

        table = Table(box=None, pad_edge=False, show_header=False)
        for _ in range(4):
            # A remedy that is cut short could not be copied.
            table.add_column(overflow="fold")
        marks = {"ok": ("works", "green"), "missing": ("does not work", "red"), "warning": ("note", "yellow")}
        for finding in findings:
            mark, style = marks[finding.state]
            table.add_row(finding.topic, inert(finding.name), Text(mark, style=style), inert(finding.detail))
            if finding.remedy:
                table.add_row("", "", "", inert(f"to mend: {finding.remedy}", "bold"))
        Console().print(table)
    raise SystemExit(0 if fit_to_run(findings, loaded) else 1)
