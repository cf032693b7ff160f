from pathlib import Path

import click

from toolablate.traces import options


@click.command("view")
@click.argument("store", type=options.FilePath())
@options.run("latest")
@options.scorer
@options.baseline
@click.option("--port", type=click.IntRange(1, 65_535), metavar="N", help="Serve there; by default where it is free.")
@click.option("--no-open", is_flag=True, help="Open no browser.")
@click.option(
    "--person", metavar="NAME", help="The name under which labels are kept; by default yours on this machine."
)
@click.option("--blind", is_flag=True, help="Hide what the attribution says of a trial until you have labelled it.")
@click.option("--json", "as_json", is_flag=True, help='Print {"url": ...} on one line instead of a sentence.')
def command(
    store: Path,
    run: str,
    scorer: str | None,
    baseline: str | None,
    port: int | None,
    no_open: bool,
    person: str | None,
    blind: bool,
    as_json: bool,
) -> None:
    """Show STORE in a browser: scores, effects, questions, traces, and why trials went as they did.

    Serves on this machine alone, to browsers that are given the address that is printed, until Ctrl-C. A run that
    writes the store meanwhile is followed. What pages are made of is kept in `~/.cache/toolablate/view`, and may be
    deleted.
    """
    import json

    from toolablate.viewer.keeping.serving import (
        Reader,
        browser,
        has_browser,
        listening,
        require_view,
        serve,
        user_name,
    )
    from toolablate.viewer.keeping.trials import Scope

    require_view()
    scope, reader = Scope(store, run, scorer, baseline), Reader(user_name() if person is None else person, blind)
    with listening(port or 0) as listener, browser() as show:

        def ready(url: str) -> None:
            click.echo(json.dumps({"url": url}) if as_json else f"{url}\nCtrl-C ends it.")
            if not no_open and has_browser():
                show(url)

        serve(scope, listener, reader, ready, lambda text: click.echo(text, err=True))
