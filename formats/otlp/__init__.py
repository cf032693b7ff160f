"""Spans of OpenInference, sent to a collector by OTLP."""

from pathlib import Path
from typing import Any

import click

from toolablate.formats.commands import choosing
from toolablate.traces import options


@click.command(
    "otlp",
    epilog=options.example("toolablate export otlp STORE --endpoint http://127.0.0.1:6006/v1/traces"),
    short_help="Spans of OpenInference, sent to a collector.",
)
@click.argument("store", type=options.FilePath())
@click.option("--endpoint", metavar="URL", required=True, help="Where the collector takes spans over HTTP.")
@click.option("--header", "headers", metavar="NAME=VALUE", multiple=True, help="Send this header, such as a key.")
@choosing
def export_command(store: Path, endpoint: str, headers: tuple[str, ...], **given: Any) -> None:
    """Send the trials of STORE as spans of OpenInference to a collector, such as Phoenix.

    Each trial is a trace of its own: an agent, and its calls of the model and of tools in their real times, with scores
    and attributions as annotations. Sent twice, a trial gives the same spans. Long texts are cut.
    Headers may stand in the variable OTEL_EXPORTER_OTLP_HEADERS as well, where no list of processes shows them.
    """
    import os
    from importlib.metadata import version

    from toolablate.formats.exporting import exporting
    from toolablate.formats.otlp.requests import require_otlp, span_requests
    from toolablate.formats.otlp.sending import Collector, Sent, read_headers, require_address
    from toolablate.reports.numbers import counted

    require_otlp()
    require_address(endpoint)
    with_headers = read_headers(headers, os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", ""))
    sent = Sent()
    try:
        with Collector(endpoint, with_headers) as collector, exporting(store, given) as export:
            collector.send(span_requests(export.trials, project=store.stem, version=version("toolablate")), sent)
    finally:
        click.echo(f"{counted(sent.spans, 'span')} of {counted(sent.trials, 'trial')} sent to {endpoint}", err=True)
    if sent.rejected:
        click.echo(f"The collector threw away {counted(sent.rejected, 'span')}: {sent.reason}", err=True)
        raise SystemExit(1)
