"""Reads one number from a reply, exactly: no rounding, and nothing guessed about percent signs or units."""

import re
from fractions import Fraction

from toolablate.benchmarks.extraction.markers import announced, final_part
from toolablate.benchmarks.extraction.reading import EMPTY, NO_ANSWER, Reading, unread

NO_NUMBER = "an answer is announced, but it holds no number"
NOT_BARE = f"{NO_ANSWER}, and the last line is not one plain number"
NOT_PLAIN = "the announced answer is not one plain number"
OUT_OF_RANGE = "the announced number is out of range"

MAX_EXPONENT = 320
"""Beyond it no float could be compared with the number, and its digits would fill the memory."""

# "A: 18" and "#### 18" end the solutions of GSM8K.
_GSM8K = re.compile(r"^(?:####|A:)", re.MULTILINE)

_FRACTION = re.compile(r"\\[dt]?frac\s?\{\s?([-+]?[0-9.,]{1,40})\s?\}\s?\{\s?([0-9.,]{1,40})\s?\}")
_POWER_OF_TEN = re.compile(r"(?<![0-9])10([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,4})")
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_TIMES = re.compile(r"\s?\\(?:times|cdot)\s?")
_GROUPING = re.compile("\\{,\\}(?=[0-9]{3})|(?<=[0-9])(?:\\\\,|[\u2009\u202f])(?=[0-9]{3}(?![0-9]))")
_MARKUP = re.compile(
    r"\\(?:text|mathrm|mathbf|textbf|mathsf|rm|bf|left|right|displaystyle|f?boxed|approx)\b|\\(?=[()\[\]%$])|\\[,;:! ]"
    r"|\bUS(?=\$)|\*\*|__|[`$€£¥{}]"
)

_PLAIN = r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,100}(?:\.[0-9]{1,300})?|[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})"
_NUMBER = re.compile(
    rf"""(?<![A-Za-z0-9.^,_-])(?P<sign>[-+–]?)\s?
    (?: 10\s?\^\s?(?P<ten>[-+]?[0-9]{{1,6}})
      | (?P<main>{_PLAIN})
        (?: [eE](?P<e>[-+]?[0-9]{{1,6}})
          | \s?[×x*·]\s?10\s?\^\s?(?P<times>[-+]?[0-9]{{1,6}})
          | \s?/\s?(?P<below>{_PLAIN}) )? )
    (?![0-9]|[.,][0-9])""",
    re.VERBOSE,
)
_GOES_ON = re.compile(
    r"\s*(?:[+/^×·÷√π](?!\s?[A-Za-z])|[*x]\s?[0-9(]|\\(?:pi|sqrt|div)\b|[-–—~:]\s?[0-9]|[-–—]\s|(?:to|or|and|,|;)\s+[-+]?[0-9]|[0-9]|\(\s?[0-9]|[A-Za-z]?\^)"
)
_EXPRESSION = re.compile(r"\\[A-Za-z]+|[√^π]|[0-9A-Za-z)]\s?[*/×÷+]\s?$")
_SENTENCE_END = re.compile(r"(?<=[^\s.])[.;!?](?=\s|$)")
_JOINED = re.compile(r"[,;]\s|\b(?:and|or)\b")
_LEAD = re.compile(
    r"[\s:>\"'(\[*_~#]*"
    r"(?:(?:is|approximately|approx\.?|about|around|roughly|exactly|nearly|equal to|equals|only"
    r"|约为?|大约|是|为)\s?)?[(\[]?"
)
_BARE_REST = re.compile(r"\s?[^\s0-9]{0,12}(?:\s[^\s0-9]{1,12})?")


def read_number(reply: str | None) -> Reading:
    """The number that the reply finally gives, as exact text for `fractions.Fraction` ("1234.5", "-1/3", "3e8").

    The last announced answer counts, or a last line that is nothing but a number and its unit. Thousands separators,
    currency and percent signs, LaTeX and units are taken off and never change the value: "50%" is 50, "5 million" is 5.
    Nothing is read from ranges, alternatives, expressions that would have to be evaluated, and numbers out of range.
    """
    text = final_part(reply or "").strip()
    if not text:
        return Reading(None, EMPTY)
    last: str | None = None
    for head in announced(text, extra=_GSM8K):
        last = head.text if last is None else last
        line = next((line for line in head.text.splitlines() if line.strip(" \t*_#:}$")), "")
        if head.decides or any(character.isdigit() for character in line):
            return _with_seen(_read_line(_cleaned(line)), line)
    if last is not None:
        return unread(NO_NUMBER, last)
    line = text.splitlines()[-1][-400:]
    return _with_seen(_read_bare(_cleaned(line)), line)


def _with_seen(reading: Reading, line: str) -> Reading:
    """Adds the line to the reason why no number was read from it."""
    return unread(reading.reason, line) if reading.value is None else reading


def _cleaned(line: str) -> str:
    line = _FRACTION.sub(r"\1/\2", _GROUPING.sub("", line))
    line = _POWER_OF_TEN.sub(lambda match: f"10^{match[1].translate(_SUPERSCRIPT)}", line)
    return _MARKUP.sub("", _TIMES.sub("×", line))


def _read_line(line: str) -> Reading:
    sentence = _SENTENCE_END.split(line, maxsplit=1)[0]
    *sides, last = re.split("[=≈]", sentence)
    if any(character.isdigit() for character in last):
        if any(_JOINED.search(side) for side in sides[1:]):
            return Reading(None, NOT_PLAIN)
        sentence = last
    numbers = list(_NUMBER.finditer(sentence))
    if not numbers:
        return Reading(None, NOT_PLAIN)
    before = sentence[: numbers[0].start()]
    if _EXPRESSION.search(before) or _GOES_ON.match(sentence, numbers[0].end()):
        return Reading(None, NOT_PLAIN)
    if len(numbers) > 1 and not _LEAD.fullmatch(before):
        return Reading(None, NOT_PLAIN)
    return _exact(numbers[0])


def _read_bare(line: str) -> Reading:
    lead = _LEAD.match(line)
    number = _NUMBER.match(line, lead.end() if lead else 0)
    if number is None or _GOES_ON.match(line, number.end()) or not _BARE_REST.fullmatch(line, number.end()):
        return Reading(None, NOT_BARE)
    return _exact(number)


def _exact(number: re.Match[str]) -> Reading:
    sign = "-" if number["sign"] in ("-", "–") else ""
    exponent = number["ten"] or number["e"] or number["times"] or "0"
    if abs(int(exponent)) > MAX_EXPONENT:
        return Reading(None, OUT_OF_RANGE)
    main = sign + _digits(number["main"] or "1")
    if number["below"]:
        below = Fraction(_digits(number["below"]))
        return Reading((str(Fraction(main) / below),)) if below else Reading(None, NOT_PLAIN)
    return Reading((f"{main}e{int(exponent)}" if int(exponent) else main,))


def _digits(text: str) -> str:
    return text.replace(",", "").rstrip(".")
