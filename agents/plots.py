"""What a model is shown for a call: a text and, where its condition says so, the images that the tool gave."""

import base64
import binascii
from collections.abc import Iterable
from typing import NamedTuple

from toolablate.tools.tool import ToolResult
from toolablate.traces.records import Artifact, Condition, Picture, ToolCall, clean_text
from toolablate.traces.records.pictures import PICTURE_KINDS

MOST_PLOTS = 4
MAX_PLOT_BYTES, MAX_PLOT_SIDE = 1_500_000, 2_000
"""Of the images of one call. Requests repeat all of them, and providers take no more pixels on a side."""


class Shown(NamedTuple):
    text: str
    images: tuple[Picture, ...] = ()


def shown_of(given: ToolCall | ToolResult, condition: Condition) -> Shown:
    """The result as the model sees it. It is the same for a recorded call, so that a replay shows what was shown."""
    text = clean_text(given.output)
    if not condition.show_plots:
        return Shown(text)
    pictures, left_out = _plots(given.artifacts)
    return Shown("\n".join([text, *left_out]), pictures)


def _plots(artifacts: Iterable[Artifact]) -> tuple[tuple[Picture, ...], list[str]]:
    """Those that can be shown, and a line for each reason why others are not."""
    pictures, left_out, more = list[Picture](), list[str](), 0
    for artifact in artifacts:
        if artifact.mime.strip().lower() not in PICTURE_KINDS:
            continue
        if len(pictures) == MOST_PLOTS:
            more += 1
            continue
        try:
            pictures.append(_plot(artifact))
        except ValueError as error:
            left_out.append(f"[An image is not shown: it {error}.]")
    if more:
        left_out.append(
            f"[{more} more {'image is' if more == 1 else 'images are'} not shown: at most {MOST_PLOTS} are.]"
        )
    return tuple(pictures), left_out


def _plot(artifact: Artifact) -> Picture:
    try:
        data = base64.b64decode("".join(artifact.data.split()), validate=True)
    except binascii.Error:
        raise ValueError("is damaged") from None
    if len(data) > MAX_PLOT_BYTES:
        raise ValueError(f"has {len(data):,} bytes; at most {MAX_PLOT_BYTES:,} are")
    picture = Picture.of(data)
    if max(picture.width, picture.height) > MAX_PLOT_SIDE:
        raise ValueError(f"has {picture.width:,} by {picture.height:,} pixels; at most {MAX_PLOT_SIDE:,} on a side are")
    return picture
