"""LaTeX as MathML, which browsers lay out without a script: from the parsed tree, tag by tag, never from markup."""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from html import unescape
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from toolablate.reports.html.marking import UNSEEN

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

LONGEST_FORMULA = 2_000
"""In characters. The converter works at about 100 kB a second."""
MOST_DEEP, MOST_ELEMENTS = 60, 3_000
"""Of the tree of one formula: a few characters can stand for many boxes."""

TAGS = frozenset(
    re.findall(
        "[a-z]+",
        "math semantics annotation mrow mi mn mo mtext mspace ms mfrac msqrt mroot mstyle merror menclose "
        "msub msup msubsup munder mover munderover mmultiscripts mprescripts none mtable mtr mtd",
    )
)
"""Without `mphantom` and `mpadded`, which hide what they hold or move it over something else."""
_VALUES = {
    "columnalign": re.compile("(?:left|right|center| )+"),
    "linethickness": re.compile("0(?:px|em|pt)?"),
    "mathvariant": re.compile("[a-z-]+"),
    "stretchy": re.compile("true|false"),
    "displaystyle": re.compile("true|false"),
    "movablelimits": re.compile("true|false"),
    "accent": re.compile("true|false"),
    "fence": re.compile("true|false"),
    "form": re.compile("prefix|infix|postfix"),
    "notation": re.compile("[a-z ]+"),
    "width": re.compile(r"[0-3]?(?:\.[0-9]{1,4})?em"),
}
ATTRIBUTES = frozenset(_VALUES)
_REFUSED = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|(?:re)?newenvironment|[egx]?def|let|DeclareMathOperator|loop|expandafter)"
    rf"(?![A-Za-z])|[{UNSEEN}]"
)
"""A formula that defines macros is shown as its source: a few of them can stand for any number of characters. So is one
with characters that nobody sees, which are named there."""
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%")
_LAYOUT = re.compile(
    r"\\(?:begin|end)\s*\{[a-zA-Z]+\*?\}(?:\{[lcr| ]*\})?|\\(?:text)?color\s*\{[a-zA-Z]+\}"
    r"|\\[hv]space\*?\s*\{[^{}]*\}|\\[a-zA-Z]+"
)
"""What of a formula says how it is laid out, or names a sign."""
_LETTER = re.compile(r"[^\W_]")


@lru_cache(maxsize=2_000)
def mathml(source: str, *, display: bool) -> Markup | None:
    """A `math` element that keeps its source as an annotation; None where the source is to be shown instead, since it
    is too long, defines macros, is no LaTeX that the converter reads, or has letters or digits that would not be seen.

    A percent sign begins a comment in LaTeX. Models mean the sign.
    """
    if len(source) > LONGEST_FORMULA or _REFUSED.search(source):
        return None
    from latex2mathml.converter import Converter

    try:
        row = Converter().convert_to_element(_read_as(source))
        parts: list[str] = []
        for child in row:
            _write(child, parts, 0)
    # A parser of what models write is no match for any input, and says so in many ways.
    except Exception:  # noqa: BLE001
        return None
    if not _shows_all(source, "".join(row.itertext())):
        return None
    kind = "block" if display else "inline"
    return Markup(  # noqa: S704 - tags are those of the list, texts are escaped
        f'<math display="{kind}"><semantics><mrow>{"".join(parts)}</mrow>'
        f'<annotation encoding="application/x-tex">{escape(source)}</annotation></semantics></math>'
    )


def _read_as(source: str) -> str:
    """Without numbers that nobody wrote, and with a percent sign where LaTeX would see a comment."""
    return re.sub(
        r"\\(begin|end)\{(align|gather|equation|eqnarray|multline)\}", r"\\\1{\2*}", _COMMENT.sub(r"\1\%", source)
    )


def _shows_all(source: str, shown: str) -> bool:
    """Whether each letter and digit of a formula is in what is shown of it, letters of any type as plain ones."""
    wanted = Counter(_LETTER.findall(unicodedata.normalize("NFKC", _LAYOUT.sub(" ", source))))
    return not wanted - Counter(_LETTER.findall(unicodedata.normalize("NFKC", unescape(shown))))


def _write(element: "Element", parts: list[str], depth: int) -> None:
    """Raises ValueError where the tree is too large."""
    if depth > MOST_DEEP or len(parts) > 3 * MOST_ELEMENTS:
        raise ValueError("too large")
    tag = element.tag if element.tag in TAGS else "mrow"
    given = "".join(f' {name}="{value}"' for name, value in element.attrib.items() if _may(name, value))
    parts.append(f"<{tag}{given}>")
    # The converter writes signs as references, for its own writer to leave as they are.
    text = str(escape(unescape(element.text or "")))
    parts.append(text if not text or tag in _TOKENS else f"<mtext>{text}</mtext>")
    for child in element:
        _write(child, parts, depth + 1)
    parts.append(f"</{tag}>")


_TOKENS = frozenset(("mi", "mn", "mo", "mtext", "ms"))


def _may(name: str, value: str) -> bool:
    pattern = _VALUES.get(name)
    return pattern is not None and pattern.fullmatch(value) is not None
