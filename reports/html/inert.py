"""Foreign text on a page: what it says, and nothing that it does."""

import re

from markupsafe import Markup, escape

_UNSEEN = re.compile(
    "([\x00-\x08\x0b-\x1f\x7f-\x9f\xad"  # all controls but tab and line feed, soft hyphens
    "\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"  # text that reads as other text, or is not seen at all
    "\u2028\u2029\ufff9-\ufffb"  # line separators and annotations
    "\U000e0000-\U000e007f\ud800-\udfff])\\1*"  # invisible tag characters, lone surrogates
)
_COLOURS = re.compile("\x1b\\[[0-9;:]{0,64}m")


def inert(text: str) -> Markup:
    """Escaped, with characters that nobody would see named by their code points; for an element, not for an attribute.

    Where one of them is repeated, it is named once and counted.
    """
    return Markup(_UNSEEN.sub(_named, str(escape(text.replace("\r\n", "\n")))))  # noqa: S704 - escaped just here


def without_colours(text: str) -> str:
    """Without the sequences by which a terminal is told colours, as tracebacks of IPython have them. Any other escape
    sequence stays, to be seen."""
    return _COLOURS.sub("", text) if "\x1b" in text else text


def _named(found: re.Match[str]) -> str:
    count = len(found[0])
    times = f" ×{count:,}" if count > 1 else ""
    return f'<span class="unseen">U+{ord(found[1]):04X}{times}</span>'
