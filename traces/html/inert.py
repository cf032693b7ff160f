"""Foreign text on a page: what it says, and nothing that it does."""

import re

from markupsafe import Markup, escape

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad"  # all controls but tab and line feed, soft hyphens
    "\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"  # text that reads as other text, or is not seen at all
    "\u2028\u2029\ufff9-\ufffb"  # line separators and annotations
    "\U000e0000-\U000e007f\ud800-\udfff]"  # invisible tag characters, lone surrogates
)


def inert(text: str) -> Markup:
    """Escaped, with characters that nobody would see named by their code points."""
    return Markup(_UNSEEN.sub(_named, str(escape(text.replace("\r\n", "\n")))))  # noqa: S704 - escaped just here


def _named(found: re.Match[str]) -> str:
    return f'<span class="unseen">U+{ord(found[0]):04X}</span>'
