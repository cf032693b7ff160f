from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolablate.traces import options

if TYPE_CHECKING:
    from toolablate.agents.replies import RepliesInfo


@click.command("info")
@click.argument("file", type=options.FilePath())
@options.as_json("what is in it")
def command(file: Path, as_json: bool) -> None:
    """Say what is recorded in FILE: how many replies of which models, when, and the digest of them all."""
    import json

    from pydantic import TypeAdapter

    from toolablate.agents.replies import info
    from toolablate.traces.plain import plain_text

    found = info(file)
    if as_json:
        facts = TypeAdapter(type(found)).dump_python(found, mode="json")
        click.echo(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        for line in _lines(found):
            click.echo(plain_text(line))


def _lines(found: "RepliesInfo") -> Iterator[str]:
    yield f"recorded replies: {found.path}, {found.size:,} bytes"
    yield f"root digest: {found.root}"
    for model in found.models:
        yield f"{model.name} at {model.endpoint} ({model.api})"
        yield f"  {model.replies:,} replies to {model.requests:,} requests" + (
            f", {model.none:,} of them stopped by a filter or the like" if model.none else ""
        )
        yield f"  recorded {model.first:%Y-%m-%d %H:%M:%S} to {model.last:%Y-%m-%d %H:%M:%S} UTC"
    if not found.models:
        yield "holds nothing yet"
