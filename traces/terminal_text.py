"""Foreign text for a terminal: what it says, and nothing that it does."""

import re

from rich.cells import cell_len, set_cell_size
from rich.text import Text

ID_CHARS = 10
"""How much of a trial's id is shown."""

# Whole sequences first, so that their printable remains (`]0;title`) do not litter the text.
_SEQUENCES = re.compile(
    "(?:\x1b\\]|\x9d)[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\\\|\x9c)?"  # OSC: titles, links, the clipboard
    "|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]{0,4096}(?:\x1b\\\\|\x9c)?"  # DCS, SOS, PM, APC
    "|(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]?"  # CSI: colours, cursor
    "|\x1b[ -/]{0,8}[0-~]?"  # the short ones
)
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # all but tab and line feed
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional overrides: text that reads as other text
    "\u2028\u2029\ufff9-\ufffb"  # line separators and annotations, which terminals lay out as they like
    "\U000e0000-\U000e007f\ud800-\udfff]"  # invisible tag characters, lone surrogates
)


def plain_text(text: str, *, max_chars: int | None = None) -> str:
    """Text without escape sequences, control characters and direction overrides; the latter two become U+FFFD.

    Tabs and line feeds stay, carriage returns before line feeds go. Longer text is cut in its middle, and says so.
    """
    return _shown(text, max_chars, "\n[... {:,} characters left out ...]\n")


def _shown(text: str, max_chars: int | None, gap: str) -> str:
    left_out = 0
    if max_chars is not None and len(text) > 4 * max_chars:
        # Enough of both ends to be cut again below, without walking through megabytes.
        left_out = len(text) - 4 * max_chars
        text = text[: 2 * max_chars] + text[-2 * max_chars :]
    cleaned = _CONTROLS.sub("\ufffd", _SEQUENCES.sub("", text.replace("\r\n", "\n")))
    return cleaned if max_chars is None else _cut(cleaned, max_chars, left_out, gap)


def inert(text: str, style: str = "", *, max_chars: int | None = None) -> Text:
    """The same as rich text in one style, without blanks at its end; square brackets in it are no markup."""
    return Text(plain_text(text, max_chars=max_chars).rstrip().expandtabs(4), style=style, overflow="fold")


def one_line(text: str, *, max_chars: int = 200) -> str:
    """The same on one line, with … in the middle of a longer text."""
    return " ".join(_shown(text, max_chars, " … ").split())


def shortened(text: str, cells: int) -> str:
    """One line of plain text in at most so many terminal cells, with … in its middle where it is longer."""
    if cell_len(text) <= cells:
        return text
    tail = (cells - 1) // 2
    head = set_cell_size(text, max(0, cells - 1 - tail)).rstrip()
    return f"{head}…{set_cell_size(text[::-1], tail)[::-1].lstrip()}"


def _cut(text: str, max_chars: int, left_out: int, gap: str) -> str:
    """At most so many characters, of a text that has lost `left_out` in its middle already."""
    if len(text) <= max_chars and not left_out:
        return text
    head = max_chars * 2 // 3
    tail = max(head, len(text) - (max_chars - head))
    return f"{text[:head]}{gap.format(left_out + tail - head)}{text[tail:]}"
