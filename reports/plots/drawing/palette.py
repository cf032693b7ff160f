"""The colours of figures: in files as they are here, on pages as the page has them, by day and by night."""

from collections.abc import Mapping

from toolablate.analysis.selection import Ending

# Okabe and Ito's, which people tell apart whatever colours they see.
GAIN, LOSS, TOTAL, GREY = "#0072B2", "#D55E00", "#999999", "#4D4D4D"
INK, LINE, PAPER = "#1B1F24", "#DDDDDD", "#FFFFFF"
"""Ink is no black: an SVG leaves out what is black by default, and a page could not give it a colour of its own."""
PALE = 0.4
"""How much there is of a colour that stands for what is not sure."""

ENDINGS: Mapping[Ending, str] = {
    "correct": GAIN,
    "partial": "#6C4BB0",
    "wrong": LOSS,
    "unparsed": "#CC79A7",
    "budget": "#E69F00",
    "failed": "#AB1D3F",
    "unscored": "#BFBFBF",
}
"""In the order in which they are stacked."""

VARIABLES: Mapping[str, str] = {
    GAIN.lower(): "--gain",
    LOSS.lower(): "--loss",
    GREY.lower(): "--quiet",
    TOTAL.lower(): "--total",
    INK.lower(): "--ink",
    "#000000": "--ink",
    ENDINGS["partial"].lower(): "--partial",
    ENDINGS["failed"].lower(): "--failed",
    LINE.lower(): "--line",
    PAPER.lower(): "--paper",
}
"""The custom properties of a page's style that stand for colours; where a page has none it is the colour itself."""
