"""The template environment that pages and reports share, with images."""

import base64
import binascii
import struct
from dataclasses import dataclass
from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from toolablate.reports import numbers
from toolablate.reports.html.beliefs import with_links
from toolablate.reports.html.cards import Text
from toolablate.reports.html.marking import as_shown, inert, marked, shown
from toolablate.reports.html.rendered import Rendered, Rich, rendered, rich
from toolablate.reports.html.side_by_side import beside
from toolablate.traces.records import Artifact, Picture
from toolablate.traces.records.picture_files import sides
from toolablate.traces.records.pictures import MAX_BYTES, PICTURE_KINDS, small_enough
from toolablate.traces.terminal_text import one_line

# Images of tools and questions, shown only where they are what they say and not too large for a browser.


@dataclass(frozen=True, slots=True)
class Image:
    """`url` holds the image itself; sides are in pixels, `size` in bytes."""

    url: str
    width: int
    height: int
    size: int


@dataclass(frozen=True, slots=True)
class NoImage:
    """`source` is to be shown as text instead, "" where there is nothing that one could read."""

    reason: str
    source: str = ""


def image(artifact: Artifact | Picture) -> Image | NoImage:
    """Never SVG or HTML, which can do things: these are shown as their source."""
    kind = artifact.mime.partition(";")[0].strip().lower()
    if kind not in PICTURE_KINDS:
        text = kind.startswith("text/") or kind.endswith(("json", "xml", "javascript"))
        return NoImage("shown as its source" if text else "not shown", artifact.data if text else "")
    if len(artifact.data) > MAX_BYTES * 4 // 3 + 4:
        return NoImage(f"not shown: more than {MAX_BYTES:,} bytes")
    try:
        data = base64.b64decode("".join(artifact.data.split()), validate=True)
        width, height = sides(kind, data)
    except (binascii.Error, ValueError, struct.error, IndexError):
        return NoImage(f"not shown: its bytes are no {kind.removeprefix('image/')}")
    if not small_enough(width, height):
        return NoImage(f"not shown: {width:,} by {height:,} pixels")
    return Image(f"data:{kind};base64,{base64.b64encode(data).decode()}", width, height, len(data))


def _laid_out(text: Text) -> Rendered:
    """The beginning of a text, all of it where it is not long, as it was meant."""
    return rendered(as_shown(text.head, text.form), text.marks)


def _rich(artifact: Artifact | Picture) -> Rich:
    return rich(artifact.mime, artifact.data)


@cache
def environment(*packages: str) -> Environment:
    """Finds templates in the folders `templates` of these packages, then in that of this one."""
    loaders = [PackageLoader(package) for package in (*packages, "toolablate.reports.html")]
    made = Environment(
        loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {
        "inert": inert,
        "one_line": one_line,  # for attributes and titles, which hold no elements
        "shown": shown,
        "image": image,
        "quoted": marked,
        "beside": beside,
        "with_links": with_links,
        "duration": numbers.duration,
        "rendered": rendered,
        "laid_out": _laid_out,
        "rich": _rich,
    }
    return made
