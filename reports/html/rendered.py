"""Text of models as it was meant: Markdown with formulas, tables and code, as elements that can do nothing.

Every step is by a list of what may be: Markdown is read without HTML, entities and references (`markdown-it-py`),
formulas become MathML (`formulas`), and `safe_html` checks what came of it. Then the letters that a reader sees are
compared with those that were written: a text of which one would be lost, or that takes too much to read, is shown raw,
with the reason.
"""

import re
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from toolablate.reports.html.cards import MarkedSpan
from toolablate.reports.html.columns import has_wide
from toolablate.reports.html.formulas import LONGEST_FORMULA, mathml
from toolablate.reports.html.marking import in_colours
from toolablate.reports.html.safe_html import (
    BOX,
    PRIVATE,
    TABLE_TAGS,
    Unsafe,
    deepest,
    hidden,
    letters,
    may_lead_to,
    revealed,
    safe,
    said,
    written,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

LONGEST_RENDERED = 250_000
"""Characters; a page cuts texts long before."""
MOST_COLUMNS = 100
"""Of a table."""
MOST_FORMULAS, FORMULA_CHARS = 600, 20_000
"""Of one text; those after them are shown as their source."""
STEPS_A_CHAR, FREE_STEPS = 1.0, 2_000
"""How often the rules may be tried for one character of a text, and how often beside that. Prose takes .02 to .7 tries
(measured over docs/); what is made to keep a parser busy, such as a long row of brackets, takes two and more, at some
10 microseconds each."""
LINES_OF_A_FORMULA, WIDE_FORMULA = 60, 40
"""In lines and characters of its source."""
MOST_NESTED, MOST_DEEP = 30, 30
"""Lists and quotations within each other; signs of stress within each other."""

Env = MutableMapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rendered:
    """`html` is None where the text is to be shown raw, and `reason` says why."""

    html: Markup | None
    reason: str = ""


def rendered(text: str, marks: Sequence[MarkedSpan] = ()) -> Rendered:
    """What stands in a block element. `marks` are places of the text, in order and apart."""
    read = _read(text)
    if isinstance(read, _Raw):
        return Rendered(None, read.reason)
    placed = [(len(letters(text[: mark.start])), len(letters(text[: mark.end])), mark) for mark in marks]
    if any(start == end for start, end, _ in placed):
        return Rendered(None, "what is marked in it are signs that are not shown otherwise")
    return Rendered(written(read, placed))


@dataclass(frozen=True, slots=True)
class _Raw:
    reason: str


@lru_cache(maxsize=256)
def _read(text: str) -> "str | _Raw":
    """Safe markup, or why a text is shown raw."""
    if len(text) > LONGEST_RENDERED:
        return _Raw(f"it has more than {LONGEST_RENDERED:,} characters")
    if any(row[0].count("|") > MOST_COLUMNS + 1 for row in _ROW_OF_DASHES.finditer(text)):
        return _Raw(f"it has a table of more than {MOST_COLUMNS} columns")
    env = {"left": STEPS_A_CHAR * len(text) + FREE_STEPS, "deep": 0}
    try:
        made = safe(_markdown().render(hidden(text), env), "prose")
    except ImportError as error:
        return _Raw(f"{error.name} is not installed (pip install 'toolablate[view]')")
    except Unsafe as error:
        return _Raw(str(error))
    # Of parsers that are given what anybody may write: a page shows the text all the same.
    except Exception as error:  # noqa: BLE001
        return _Raw(f"reading it as Markdown failed ({type(error).__name__})")
    return made if said(made) == letters(text) else _Raw("as Markdown some of it would not be shown")


_ROW_OF_DASHES = re.compile(rf"^[ \t>|:+-]{{{2 * MOST_COLUMNS},}}$", re.MULTILINE)
"""What may stand under the head of a table that is too wide."""


@lru_cache(maxsize=1)
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": MOST_NESTED})
    made.enable(["table", "strikethrough"])
    # Definitions of references are not shown where they stand, and entities are not as they were written.
    made.disable(["reference", "entity", "html_block", "html_inline"])
    made.validateLink = may_lead_to  # type: ignore[assignment, method-assign]
    made.normalizeLink = lambda address: address  # type: ignore[assignment, method-assign]
    made.normalizeLinkText = lambda address: address  # type: ignore[assignment, method-assign]
    made.inline.ruler.before("text", "steps", _step)
    made.inline.ruler.at("emphasis", _stress)
    made.inline.ruler.before("escape", "formula", _inline_formula)
    made.block.ruler.before("table", "block_formula", _block_formula, {"alt": ["paragraph", "blockquote", "list"]})
    for name, rule in _RULES.items():
        made.add_render_rule(name, rule)
    return made


def _step(state: "StateInline", _silent: bool) -> bool:
    state.env["left"] -= 1
    if state.env["left"] < 0:
        raise Unsafe("it takes too long to read as Markdown")
    return False


def _stress(state: "StateInline", silent: bool) -> bool:
    """As in CommonMark, and also where Chinese writes no blank between a sign and a letter: `**结论：**是`."""
    from markdown_it.rules_inline.emphasis import tokenize

    begin, known = state.pos, len(state.delimiters)
    if not tokenize(state, silent):
        return False
    before, after = (
        state.src[begin - 1 : begin] if begin else "",
        state.src[state.pos : min(state.pos + 1, state.posMax)],
    )
    if state.src[begin] == "*" and before.strip() and after.strip():
        for delimiter in state.delimiters[known:]:
            delimiter.open |= has_wide(before)
            delimiter.close |= has_wide(after)
    return True


# Formulas: `$...$`, `$$...$$`, `\(...\)`, `\[...\]`, and environments that stand by themselves.


_CLOSES = {"\\(": "\\)", "\\[": "\\]", "$$": "$$", "$": "$"}
_BEGIN = re.compile(r"\\begin\{((?:align|aligned|equation|gather|gathered|multline|eqnarray|cases|[bpvV]?matrix)\*?)\}")


def _inline_formula(state: "StateInline", silent: bool) -> bool:
    begin, text = state.pos, state.src
    opening = text[begin : begin + 2]
    if opening not in _CLOSES:
        opening = opening[:1]
    if opening not in _CLOSES:
        return False
    found = _closed(text, begin, opening)
    if found is None:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content, token.markup = text[begin + len(opening) : found], opening
    state.pos = found + len(_CLOSES[opening])
    return True


def _closed(text: str, begin: int, opening: str) -> int | None:
    """Where the formula that begins there is closed. A dollar alone is money, unless it is close to what it closes: `$5
    and $6` is no formula."""
    start, closing = begin + len(opening), _CLOSES[opening]
    end = text.find(closing, start, start + LONGEST_FORMULA)
    while end > 0 and closing[0] == "$" and text[end - 1] == "\\" and text[end - 2] != "\\":
        end = text.find(closing, end + 1, start + LONGEST_FORMULA)
    if end <= start or not text[start:end].strip():
        return None
    if opening == "$":
        before, after = text[begin - 1 : begin], text[end + 1 : end + 2]
        if text[start].isspace() or text[end - 1].isspace() or (after.isalnum() and after.isascii()):
            return None
        if (before.isalnum() and before.isascii()) or before == "$":
            return None
    return end


def _block_formula(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """One that begins a line and ends one: lines in between are no lists and no headings, whatever they begin with."""
    if state.is_code_block(start):
        return False
    begin = state.bMarks[start] + state.tShift[start]
    first = state.src[begin : state.eMarks[start]]
    environment = _BEGIN.match(first)
    if environment:
        closing, skip = f"\\end{{{environment[1]}}}", 0
    elif first.startswith(("\\[", "$$")):
        closing, skip = _CLOSES[first[:2]], 2
    else:
        return False
    lines = [first[skip:]]
    for line in range(start, min(end, start + LINES_OF_A_FORMULA)):
        if line > start:
            if state.sCount[line] < state.blkIndent:
                return False
            lines.append(state.src[state.bMarks[line] : state.eMarks[line]])
        last = lines[-1].rstrip()
        if closing in last:
            break
    else:
        return False
    if not last.endswith(closing) or last.count(closing) > 1:
        return False
    if silent:
        return True
    source = "\n".join([*lines[:-1], last if environment else last[: -len(closing)]])
    token = state.push("formula", "", 0)
    token.block, token.content, token.markup, token.map = (
        True,
        source,
        "" if environment else first[:2],
        [start, line + 1],
    )
    state.line = line + 1
    return True


# How tokens are written. What a rule gives is markup for the sanitizer; all that comes from the text is escaped in it.


Rule = Callable[[Any, Sequence["Token"], int, Any, Env], str]


def _formula(_: Any, tokens: Sequence["Token"], place: int, _options: Any, env: Env) -> str:
    token = tokens[place]
    source = token.content
    env["formulas"] = env.get("formulas", 0) + 1
    env["formula_chars"] = env.get("formula_chars", 0) + len(source)
    made = None
    if env["formulas"] <= MOST_FORMULAS and env["formula_chars"] <= FORMULA_CHARS:
        made = mathml(revealed(source).strip(), display=token.markup in ("\\[", "$$", ""))
    if made is not None:
        # What may be wider than a narrow window is scrolled by keys too.
        shown = f'<span class="md-wide" {BOX.format("Formula")}>{made}</span>' if len(source) > WIDE_FORMULA else made
        return f"<p>{shown}</p>\n" if token.block else shown
    shown = f'<code class="md-formula">{escape(token.markup + source + _CLOSES.get(token.markup, ""))}</code>'
    return f"<p>{shown}</p>\n" if token.block else shown


def _link_open(_: Any, tokens: Sequence["Token"], place: int, *_rest: Any) -> str:
    return f'<a href="{escape(str(tokens[place].attrs["href"]))}">'


def _link_close(_: Any, tokens: Sequence["Token"], place: int, *_rest: Any) -> str:
    """Where it leads stands behind it, unless its text says so."""
    begin = next(each for each in range(place, -1, -1) if tokens[each].type == "link_open")
    opening = tokens[begin]
    href, title = str(opening.attrs["href"]), str(opening.attrs.get("title", ""))
    if opening.markup == "autolink":
        return "</a>"
    behind = " ".join(part for part in (href, title) if part)
    return f'</a><span class="md-url"> ({escape(behind)})</span>'


def _image(_: Any, tokens: Sequence["Token"], place: int, *_rest: Any) -> str:
    """Nothing is loaded: what it would show, and from where."""
    token = tokens[place]
    parts = (token.content, str(token.attrs["src"]), str(token.attrs.get("title", "")))
    return f'<span class="md-image">{escape(" ".join(part for part in parts if part))}</span>'


def _fence(_: Any, tokens: Sequence["Token"], place: int, *_rest: Any) -> str:
    token = tokens[place]
    language = token.info.strip()
    head = f'<p class="md-lang">{escape(language)}</p>' if language else ""
    coloured = in_colours(token.content, language.split()[0].lower() if language else "")
    code = "".join(map(_piece, coloured))
    # The parser of HTML drops a line feed that a `pre` begins with.
    return f'<div class="md-code">{head}<pre>\n<code>{code}</code></pre></div>\n'


def _piece(token: tuple[str, str]) -> str:
    name, text = token
    if name.startswith("pad-"):
        return f'<span class="pad">{" " * int(name.removeprefix("pad-"))}</span>'
    return f'<span class="{name}">{escape(text)}</span>' if name else str(escape(text))


def _heading_open(_: Any, tokens: Sequence["Token"], place: int, *_rest: Any) -> str:
    """The page has headings of its own, whose order a text does not change."""
    return f'<p class="md-heading md-{tokens[place].tag}">'


def _item_open(_: Any, tokens: Sequence["Token"], place: int, *_rest: Any) -> str:
    number = tokens[place].info
    return f'<li value="{number}">' if number.isdigit() and number.isascii() else "<li>"


def _cell(closing: bool) -> Rule:
    def rule(_: Any, tokens: Sequence["Token"], place: int, *_rest: Any) -> str:
        token = tokens[place]
        # A head without words is none, for who hears a table read.
        empty = not tokens[place - 1 if closing else place + 1].content.strip()
        tag = "td" if empty else token.tag
        if closing:
            return f"</{tag}>\n"
        side = str(token.attrs.get("style", "")).removeprefix("text-align:")
        return f'<{tag} class="md-{side}">' if side in ("right", "center") else f"<{tag}>"

    return rule


def _deeper(tag: str, by: int) -> Rule:
    """Browsers lay out 512 elements within each other, and no reader tells ten apart."""

    def rule(_: Any, _tokens: Sequence["Token"], _place: int, _options: Any, env: Env) -> str:
        env["deep"] += by
        if env["deep"] > MOST_DEEP:
            raise Unsafe("it is nested too deeply")
        return f"<{tag}>" if by > 0 else f"</{tag}>"

    return rule


def _always(markup: str) -> Rule:
    return lambda *_: markup


_RULES: dict[str, Rule] = {
    "formula": _formula,
    "link_open": _link_open,
    "link_close": _link_close,
    "image": _image,
    "fence": _fence,
    "code_block": _fence,
    "heading_open": _heading_open,
    "heading_close": _always("</p>\n"),
    "ordered_list_open": _always("<ol>\n"),
    "list_item_open": _item_open,
    "table_open": _always(f'<div class="md-table" {BOX.format("Table")}><table>\n'),
    "table_close": _always("</table></div>\n"),
    "th_open": _cell(False),
    "th_close": _cell(True),
    "td_open": _cell(False),
    "td_close": _cell(True),
    **{f"{name}_open": _deeper(tag, 1) for name, tag in (("em", "em"), ("strong", "strong"), ("s", "del"))},
    **{f"{name}_close": _deeper(tag, -1) for name, tag in (("em", "em"), ("strong", "strong"), ("s", "del"))},
}


# Rich outputs of tools: tables of pandas as HTML, results of sympy as LaTeX.


LONGEST_RICH, MOST_CELLS = 400_000, 5_000
_OPENED = re.compile("<([a-zA-Z][a-zA-Z0-9]*)")
_PLAIN = frozenset(("html", "head", "body", "meta", "section", "article", "thead", "tfoot", "colgroup", "col"))
_EMPTY_HEAD = re.compile("<th[^>]*></th>")
_CELL = re.compile(r'<t[dh](?:[^>]* colspan="(?P<columns>\d+)")?')


@dataclass(frozen=True, slots=True)
class Rich:
    """`html` is None where there is nothing but the source, and `note` says why, or what of it is left out."""

    html: Markup | None
    note: str = ""


@lru_cache(maxsize=128)
def rich(mime: str, data: str) -> Rich:
    """What a tool gave beside its text, of kinds that are laid out: by allow-list, without styles, scripts, loads."""
    kind = mime.partition(";")[0].strip().lower()
    if kind == "text/latex":
        source = data.strip().strip("$").removeprefix("\\displaystyle").strip()
        found = mathml(source, display=True)
        return Rich(None, "not read as a formula") if found is None else Rich(Markup("<p>{}</p>").format(found))
    if kind != "text/html":
        return Rich(None)
    try:
        return _laid_out(data)
    except ImportError as error:
        return Rich(None, f"{error.name} is not installed (pip install 'toolablate[view]')")
    except Unsafe as error:
        return Rich(None, f"not laid out: {error}")
    # Of a parser that is given what anybody may write: its source is shown all the same.
    except Exception as error:  # noqa: BLE001
        return Rich(None, f"not laid out: reading it failed ({type(error).__name__})")


def _laid_out(data: str) -> Rich:
    if len(data) > LONGEST_RICH:
        raise Unsafe(f"it has more than {LONGEST_RICH:,} characters")
    if PRIVATE.search(data):
        raise Unsafe("it has characters for private use")
    opened = [tag.lower() for tag in _OPENED.findall(data)]
    if sum(tag in ("td", "th") for tag in opened) > MOST_CELLS or len(opened) > 4 * MOST_CELLS:
        raise Unsafe(f"it has more than {MOST_CELLS:,} cells")
    made = safe(data, "table")
    if PRIVATE.search(made):
        raise Unsafe("it has characters for private use")
    if _widest(made) > MOST_COLUMNS:
        raise Unsafe(f"it has a table of more than {MOST_COLUMNS} columns")
    if deepest(made) > MOST_DEEP:
        raise Unsafe("it is nested too deeply")
    left = sorted({tag for tag in opened if tag not in TABLE_TAGS and tag not in _PLAIN})
    note = f"left out: {', '.join(left[:8])}{' and more' if len(left) > 8 else ''}" if left else ""
    # A head without words is none, for who hears a table read.
    html = _EMPTY_HEAD.sub("<td></td>", made)
    box = Markup(f'<div class="md-table" {BOX.format("Table")}>{{}}</div>')  # noqa: S704 - a text of ours
    return Rich(box.format(written(html)), note)


def _widest(markup: str) -> int:
    """In columns: a cell may span several."""
    rows = ([*_CELL.finditer(row)] for row in markup.split("<tr>")[1:])
    return max((sum(int(cell["columns"] or 1) for cell in row) for row in rows), default=0)
