"""Reads one number from a reply, exactly: no rounding, and nothing guessed about percent signs or units."""

import re
from collections.abc import Callable, Sequence

from toolablate.benchmarks.answer_extraction.announcements import (
    EMPTY,
    NO_ANSWER,
    ExtractedAnswer,
    after_marks,
    announced,
    final_part,
    opening_line,
    unread,
)
from toolablate.benchmarks.answer_extraction.quantities import (
    CURRENCIES,
    DASHES,
    HAN_LEAD,
    NUMERIC,
    OutOfRange,
    Token,
    exact,
    is_rest,
    quantity_at,
    text_at,
    tokens_of,
)

NO_NUMBER = "an answer is announced, but it holds no number"
NOT_BARE = f"{NO_ANSWER}, and the last line is not one plain number"
NOT_PLAIN = "the announced answer is not one plain number"
OUT_OF_RANGE = "the announced number is out of range"

# "A: 18" and "#### 18" end the solutions of GSM8K.
_GSM8K = re.compile(r"^(?:####|A:)", re.MULTILINE)
_BULLET = re.compile(r"[ \t]*[*•+][ \t]+")
# A bullet or a minus, a quotation or a bound: nobody knows.
_UNCLEAR_LEAD = re.compile(r"[\s*_#:$]*\n[ \t]*[-–>][ \t]+")
_FIGURE = re.compile(r"[0-9]")
_MARKS = " \t*_#:}$"

# fmt: off
# fmt: off
_LEADS = frozenset((
    "is", "are", "was", "be", "approximately", "approx", "about", "around", "roughly", "exactly", "nearly",
    "almost", "precisely", "equal", "equals", "to", "only", "just", "simply", "the", "a", "an", "total", "of",
    "now", "then", "thus", "therefore", "so", "still", "indeed", "probably", "likely", "value", "number", "ca",
    "circa",
))
# Before a number these make it a bound, a denial or a part of an expression.
_BOUNDS = frozenset((
    "than", "least", "most", "over", "under", "below", "above", "between", "beyond", "within", "not", "never",
    "except", "exceeds", "exceed", "exceeding", "up", "base", "mod", "modulo", "log", "ln", "sin", "cos", "tan",
    "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sqrt", "root", "square", "squared", "cube", "plus", "times",
    "divided", "half", "twice", "triple", "double", "choose", "factor", "factors", "multiple", "multiples", "until",
    "or", "and", "isn't", "isn’t", "nor", "neither", "no", "none", "without", "power", "gcd", "lcm", "exp", "max",
    "min", "det", "dim",
))
_RELATIONS = frozenset((
    "<", ">", "≤", "≥", "≠", "∈", r"\le", r"\ge", r"\leq", r"\geq", r"\lt", r"\gt", r"\ne", r"\neq", r"\in",
    r"\equiv", r"\sim", r"\leqslant", r"\geqslant",
))
# fmt: on
_JOINTS = frozenset((",", ";", "and", "or", "if", "when", "because", "since", "so"))
_LEADING_MARKS = frozenset(("(", "[", ":", "'", "*", "_", "~", "#", "."))
_PROSE_MARKS = frozenset((",", ":", "'", "-", "(", ")", "*", "_"))
_HAN_BOUNDS = re.compile("[不第或超]|至少|至多|最多|最少|以上|小于|大于|少于|多于")


def read_number(reply: str | None) -> ExtractedAnswer:
    """The number that the reply finally gives, as exact text for `fractions.Fraction` ("1234.5", "-1/3", "3e8").

    The last box counts, or else the last announced answer, or a last line that is nothing but a number and its unit.
    Thousands separators, currency and percent signs, LaTeX and units are taken off and never change the value: "50%" is
    50. Words do: "12 thousand", "12k" and 1.2万 are 12000, "twenty-one" is 21, "1 4/5" is 9/5.

    Nothing is evaluated. Whatever stands beside a number and is no unit makes the answer unread, and not the number:
    "10\\sqrt{2}", "2x", "2^10", "10!", "> 10", "5, 6", "5 or 6", "5-7", "1 hour 30 minutes", "1010_2", "June 20".
    """
    text = final_part(reply or "").strip()
    if not text:
        return ExtractedAnswer(None, EMPTY)
    opening = opening_line(text)
    if opening and (reading := _read(_read_bare, opening[-400:], NOT_BARE)).value is not None:
        return reading
    last: str | None = None
    for head in announced(text, extra=_GSM8K):
        last = head.text if last is None else last
        line = _answer_line(head.text)
        unclear = _UNCLEAR_LEAD.match(head.text)
        reading = unread(NOT_PLAIN, line) if unclear else _read(_read_answer, line, NOT_PLAIN)
        if head.decides or reading.value is not None or _FIGURE.search(line):
            return reading
    if last is not None:
        return unread(NO_NUMBER, last)
    return _read(_read_bare, text.splitlines()[-1][-400:], NOT_BARE)


def _answer_line(head: str) -> str:
    """The line that follows an announcement, or the first one below it, without a bullet."""
    for place, line in enumerate(head.partition("</")[0].splitlines()):
        if line.strip(_MARKS):
            bullet = _BULLET.match(line) if place else None
            return after_marks(line[bullet.end() :] if bullet else line, " \t*_")
    return ""


def _read(read: Callable[[str], str | None], line: str, fault: str) -> ExtractedAnswer:
    try:
        number = read(line)
    except OutOfRange:
        return unread(OUT_OF_RANGE, line)
    return unread(fault, line) if number is None else ExtractedAnswer((number,))


def _read_answer(line: str) -> str | None:
    """The one number that a line gives, as exact text; None where it gives none, several, or an expression.

    Raises OutOfRange.
    """
    tokens = _first_sentence(tokens_of(line))
    found = _first(tokens) or _last_side(tokens) or _in_clause(tokens)
    if found is not None:
        exact(found)
    return found


def _read_bare(line: str, words: int = 2) -> str | None:
    """The number of a line that is nothing but a number and its unit of at most so many words. Raises OutOfRange."""
    tokens = tokens_of(line)
    place, opened = _after_lead(tokens)
    found = quantity_at(tokens, place)
    if found is None or not is_rest(tokens, found.end, opened=opened, remarks=False):
        return None
    if sum(token.kind in ("word", "han") and token.spaced for token in tokens[found.end :]) > words:
        return None
    exact(found.value)
    return found.value


def _first_sentence(tokens: list[Token]) -> list[Token]:
    for place, token in enumerate(tokens):
        ends = token.text in (".", "?", "!") and (place + 1 == len(tokens) or tokens[place + 1].spaced)
        # 10! is a factorial, and "approx. 5" no end.
        if ends and place and tokens[place - 1].text.lower() not in ("approx", "ca", "rs", "no", "approximately"):
            return tokens[: place + (token.text == "!" and tokens[place - 1].kind in NUMERIC)]
    return tokens


def _first(tokens: Sequence[Token]) -> str | None:
    """The number that a sentence begins with."""
    place, opened = _after_lead(tokens)
    found = quantity_at(tokens, place)
    return found.value if found and is_rest(tokens, found.end, opened=opened) else None


def _after_lead(tokens: Sequence[Token]) -> tuple[int, str]:
    """Where what is said of a number before it ends, and the brackets that were opened there."""
    place, opened = 0, ""
    for place, token in enumerate(tokens):
        leads = (
            (token.kind == "word" and token.text.lower() in _LEADS)
            or (token.kind == "han" and HAN_LEAD.fullmatch(token.text))
            or token.kind in ("arrow", "equals")
            or token.text in _LEADING_MARKS
        )
        if not leads:
            return place, opened
        opened += token.text if token.text in "([" else ""
    return len(tokens), opened


def _last_side(tokens: Sequence[Token]) -> str | None:
    """What follows the last equals sign, where what stands before it is a name or arithmetic and no other equation."""
    sides, side = list[Sequence[Token]](), list[Token]()
    for token in tokens:
        if token.kind == "equals":
            sides.append(side)
            side = []
        else:
            side.append(token)
    if not sides:
        return None
    found = _first(side)
    return found if found is not None and all(_may_equal(left, found) for left in sides) else None


def _may_equal(left: Sequence[Token], value: str) -> bool:
    """Whether a side may have the value: "x", "f(2)", "3 + 4", "Total cost", but no polynomial or other answer."""
    depth, variables, sums, multiples = 0, False, False, False
    for place, token in enumerate(left):
        depth += (token.text in "([") - (token.text in ")]")
        if token.kind == "about" or (depth <= 0 and token.text.lower() in _RELATIONS | _JOINTS):
            return False
        variable = token.kind == "word" and not token.in_text and len(token.text) == 1
        variables = variables or variable
        sums = sums or (token.text in ("+", *DASHES) and place > 0)
        after_figure = place > 0 and not token.spaced and left[place - 1].kind in NUMERIC
        multiples = (
            multiples or (token.kind == "word" and after_figure) or (variable and text_at(left, place + 1) == "^")
        )
    return not variables or not (multiples or (sums and not exact(value)))


def _in_clause(tokens: Sequence[Token]) -> str | None:
    """The only number of a sentence in words: "that Janet makes 18 dollars", "Total: 18", but not "June 20"."""
    places = [place for place, token in enumerate(tokens) if token.kind in NUMERIC]
    if not places:
        return None
    first = places[0]
    while first and (tokens[first - 1].kind == "currency" or tokens[first - 1].text in (*DASHES, "minus", "negative")):
        first -= 1
    before = tokens[:first]
    if not before or not _is_prose(before):
        return None
    found = quantity_at(tokens, first)
    if found is None or any(token.kind in NUMERIC for token in tokens[found.end :]):
        return None
    return found.value if is_rest(tokens, found.end) else None


def _is_prose(tokens: Sequence[Token]) -> bool:
    """Whether tokens are words that leave the number after them as it is, the last one no name ("June", "x")."""
    for token in tokens:
        if token.kind == "word":
            if token.text.lower() in _BOUNDS or token.text.lower().endswith(("n't", "n’t")):
                return False
        elif token.kind == "han":
            if _HAN_BOUNDS.search(token.text):
                return False
        elif token.kind not in ("currency", "arrow", "percent") and token.text not in _PROSE_MARKS:
            return False
    last = next((token for token in reversed(tokens) if token.kind in ("word", "han") or token.text == ":"), None)
    if last is None or last.kind != "word":
        return last is not None
    return (last.text[0].islower() and len(last.text) > 1) or last.text.lower() in CURRENCIES
