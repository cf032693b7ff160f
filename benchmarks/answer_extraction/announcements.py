"""Where a reply announces its answer, and the text it does so in."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from toolablate.traces.thoughts import after_thoughts

MAX_ANNOUNCEMENTS = 1_000
"""A reply with more is a loop that broke off; only the last ones are looked at."""

_VERB = (
    r"(?:(?:should|would|must|will|could|might)\s)?(?:(?:then|thus|therefore|so|likely|most\slikely|probably|clearly|also)\s)?"
    r"(?:is|are|was|were|be)\b"
)
_RIGHT = r"(?:correct|right|best|closest|nearest|appropriate|suitable|accurate|proper|final|chosen|true)"
_NOUN = r"(?:answers?|options?|choices?|statements?|letters?|values?|match|ones?|responses?|selection|verdict)"
_QUOTE = r"""["'_*)\]]{0,4}"""
# \b, but with "__" before it as well.
_WORD = r"(?<![^\W_])"

# An empty box is an instruction that was repeated: "I put the answer in \\boxed{}".
_BOX = r"\\(?:f?boxed|fbox)(?:\s{0,3}\{(?!\s{0,8}\})|\s{1,3}(?=[^\s{])|(?=[0-9+-]))"

_MARKERS = (
    r"<answer>",
    _BOX,
    # A heading of its own: the answer is on the next line.
    r"(?m:^[ \t#>_*-]{0,12}(?:the\s)?(?:final\s|correct\s)?answer[ \t#_*]{0,6}$)",
    rf"{_WORD}answers?(?:\s(?:choice|option|letter)s?)?{_QUOTE}\s{{0,3}}(?:[:=→]|-{{1,3}}>?\s|[–—]\s)",
    rf"{_WORD}answers?(?:\s(?:choice|option|letter)s?)?{_QUOTE}"
    rf"(?:\s(?:to|for|of)(?:\s[^\s.:;]{{1,24}}){{1,8}}?)?,?\s{{1,3}}(?:(?:here|then|thus|therefore),?\s)?{_VERB}",
    rf"{_WORD}{_RIGHT}\s(?:{_NOUN}(?:[*_]{{0,3}}\s|(?=[*_]{{0,3}}:))){{0,2}}(?:{_VERB}|[*_]{{0,3}}:)",
    rf"{_WORD}my\s(?:choice|selection|pick|guess){_QUOTE}\s{{0,3}}(?::|{_VERB})",
    r"答案(?:选项)?[_*\"”』」)\]]{0,4}\s{0,3}(?:应该|应当|应|就|即|只能|可能)?(?:是|为|选|[:=])?",
    r"(?:故|因此|所以|综上|本题|应该?|我)[,]?\s?(?:应该?|正确)?(?:选择|选项[为是]|选)",
    r"(?:正确|最佳|最终)的?(?:选项|选择|答案|说法|表述|陈述|组合)(?:应该|应|只有)?(?:是|为|:)",
)
_MARKER = re.compile("|".join(_MARKERS), re.IGNORECASE)
_BEGINS_BOX = re.compile(_BOX)
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_UNBRACED = re.compile(r"[^\s$]+")
_ENDS_IN_VERB = re.compile(r"(?:\b(?:is|are|was|were|be)|[是为选])\s*$", re.IGNORECASE)
_BEFORE_HEADING = re.compile(r"[\W_]*")

NEXT_QUESTION = (
    r"^[ \t#*>_-]{0,8}(?:(?:next|new|another)\s)?(?:question|problem|exercise)[ \t]?\d{0,4}[ \t*_]{0,3}(?:[:.)]|$)"
    r"|^[ \t#*>_-]{0,8}q[ \t]?(?:\d{1,4}[ \t*_]{0,3}[:.)]|[*_]{0,3}:)"
    r"|^[ \t#*]{0,8}(?:user|human|instruction|input)[ \t]?:"
    r"|^[ \t#*]{0,8}(?:下一?[题个]|问题|题目|例题?|第[\d一二三四五六七八九十]{1,3}题)[^\n]{0,8}?[:.]"
    r"|<\|(?:im_|user|end(?!_header)|eot|start)|\[INST\]"
)
"""What a line that opens another question begins with, and the tags that open another turn."""
_NEXT_QUESTION = re.compile(NEXT_QUESTION, re.IGNORECASE | re.MULTILINE)

# "Without the last step the answer would be 7", "had they asked for the fourth, the answer is D".
_WOULD = re.compile(r"\b(?:would|could|might)\s(?:\w{1,12}\s)?be\b", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:if|had|were|with|without|unless|otherwise|suppos\w{1,4}|assum\w{1,4})\b", re.IGNORECASE)
_SUPPOSED = re.compile(
    r"\W{0,8}(?:note\W{1,4})?"
    r"(?:(?:had|were)\s(?:I|you|he|she|it|we|they|th\w{1,3}|an?)|if\s[^.!?\n]{1,40}?\s(?:had|were))\s",
    re.IGNORECASE,
)
_GIVEN = re.compile(r"[ \t]{0,4}\S[^\n]{0,60}?(?:[.!](?=\s)|\n|\Z)")

_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_GAP = re.compile(r"\n{5}")

# Full-width forms and the letters of mathematical fonts become the plain characters that they stand for.
_PLAIN: dict[int, str] = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_PLAIN |= {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0x1D400, 0x1D800)}
_PLAIN |= {0x3000: " ", 0x2212: "-", 0xA0: " ", 0x3010: "[", 0x3011: "]", 0x3002: "."}


def final_part(reply: str) -> str:
    """The reply in plain characters, without the thoughts that some endpoints leave in it."""
    return after_thoughts(reply).translate(_PLAIN)


def is_announced(text: str) -> bool:
    return _MARKER.search(text) is not None


def opening_line(text: str) -> str | None:
    """The first line, where it announces nothing and is all that stands above another question."""
    following = _NEXT_QUESTION.search(text, 1)
    line = text[: following.start()].strip() if following else "\n"
    return None if "\n" in line or is_announced(line) else line


def before_next_question(text: str) -> str:
    """The text up to where, having announced an answer, it asks itself another question."""
    first = _MARKER.search(text)
    following = _NEXT_QUESTION.search(text, first.end()) if first else None
    return text[: following.start()] if following else text


def before_another_question(text: str) -> str:
    """The text up to where it asks itself another question or is empty for lines, answer announced or not."""
    following = _NEXT_QUESTION.search(text, 1) or _GAP.search(text)
    return text[: following.start()].rstrip() if following else text


class Box(NamedTuple):
    """What stands in a `\\boxed{}`, without its braces, and the places where the whole of it begins and ends."""

    content: str
    start: int
    end: int


def last_box(text: str) -> Box | None:
    """The last `\\boxed{...}`, `\\fbox{...}` or `\\boxed 4` that holds anything; None where it is not closed.

    Braces may be nested and escaped; of boxes in a box the innermost counts. `text` is what `final_part` gives, with
    its LaTeX: markup may be taken off, braces may not. Whoever reads announcements needs no box: `announcements`
    gives it before all others, and `announced` says which one it is.
    """
    found = list(_BEGINS_BOX.finditer(text))
    return _box(text, found[-1].start(), found[-1].end(), len(text)) if found else None


def _box(text: str, start: int, stop: int, end: int) -> Box | None:
    """The box that `text[start:stop]` opens, where it is closed before `end`."""
    if not text.endswith("{", start, stop):
        token = _UNBRACED.match(text, stop, end)
        return Box(token[0].rstrip(".,;:"), start, token.end()) if token else None
    depth = 1
    for brace in _BRACE.finditer(text, stop, end):
        depth += (brace[0] == "{") - (brace[0] == "}")
        if not depth:
            return Box(text[stop : brace.start()], start, brace.end())
    return None


class Announced(NamedTuple):
    """What follows an announcement; `decides` where it is the content of the box that counts before all others."""

    text: str
    decides: bool = False


def announcement_spans(
    text: str, extra: re.Pattern[str] | None = None
) -> tuple[list[tuple[int, int]], set[tuple[int, int]]]:
    """Where each announcement of an answer begins and ends, in order, and which of them `extra` found.

    What would be the answer to something else is none, once an answer was given ("Answer: 12. If we had counted zero,
    the answer would be 13.").
    """
    further = {match.span() for match in extra.finditer(text)} if extra else set[tuple[int, int]]()
    found, given, headed = list[tuple[int, int]](), False, False
    for span in sorted([match.span() for match in _MARKER.finditer(text)] + list(further)):
        if given and span not in further and _is_supposed(text, *span, headed=headed):
            continue
        found.append(span)
        if _GIVEN.match(text, span[1]):
            given, headed = True, headed or not _ENDS_IN_VERB.search(text, *span)
    return found, further


def _is_supposed(text: str, start: int, stop: int, *, headed: bool) -> bool:
    """Whether an announcement is of what would be; below an answer with a heading no condition has to say so."""
    sentence = _SENTENCE_END.split(text[max(0, start - 300) : start])[-1]
    if _WOULD.search(text, start, stop):
        return headed or _CONDITION.search(sentence) is not None
    return _SUPPOSED.match(sentence) is not None


def announcements(text: str, *, extra: re.Pattern[str] | None = None, window: int = 400) -> Iterator[str]:
    """What follows each announcement of an answer, as `announced` orders it."""
    return (head.text for head in announced(text, extra=extra, window=window))


def announced(text: str, *, extra: re.Pattern[str] | None = None, window: int = 400) -> Iterator[Announced]:
    """What follows each announcement of an answer, the last one first, each up to the next and at most `window` long.

    The last box decides, whatever prose follows it: its content, and no more, comes before the announcements in later
    sentences. Only a later line such as "Answer: C", or what `extra` finds, comes before the box.

    A reply that has given an answer and goes on to ask itself another question ends there. `extra` finds further
    announcements that only one kind of answer knows.
    """
    found, later = announcement_spans(text, extra)
    if not found:
        return
    next_question = _NEXT_QUESTION.search(text, found[0][1])
    text = text[: next_question.start()] if next_question else text
    box = last_box(text)
    heads, end = list[tuple[int, int, str]](), len(text)
    for start, stop in reversed(found[-MAX_ANNOUNCEMENTS:]):
        if stop <= end:
            heads.append((start, stop, _head(text, start, stop, min(end, stop + window))))
            end = start
    if box is None:
        yield from (Announced(head) for _, _, head in heads)
        return
    above = [head for head in heads if head[0] >= box.end and (head[:2] in later or _is_heading(text, *head[:2]))]
    yield from (Announced(head) for _, _, head in above)
    yield Announced(box.content[:window], decides=True)
    yield from (Announced(head[2]) for head in heads if head not in above and not (box.start <= head[0] < box.end))


def _head(text: str, start: int, stop: int, end: int) -> str:
    """What follows an announcement up to `end`; of a box, what it holds."""
    box = _box(text, start, stop, end) if text.startswith("\\", start) else None
    return box.content if box else text[stop:end]


def _is_heading(text: str, start: int, stop: int) -> bool:
    """Whether an announcement begins its line and is no sentence: "**Answer:**", but not "The answer is"."""
    before = text[max(0, start - 40) : start].rpartition("\n")[2]
    return bool(_BEFORE_HEADING.fullmatch(before)) and not _ENDS_IN_VERB.search(text, start, stop)


EMPTY = "the reply is empty"
NO_ANSWER = "no answer is announced"

SEEN_CHARS = 60


@dataclass(frozen=True, slots=True)
class ExtractedAnswer:
    """What was read from a reply: letters, spans or one exact number ("18", "-1/3"); or None and the reason why."""

    value: tuple[str, ...] | None
    reason: str = ""


def unread(reason: str, text: str) -> ExtractedAnswer:
    """Nothing read, for a reason that shows the first line of the text that stood there."""
    line = text.strip().partition("\n")[0].strip()
    shown = line if len(line) <= SEEN_CHARS else f"{line[:SEEN_CHARS]}..."
    return ExtractedAnswer(None, f"{reason}: {shown!r}" if shown else reason)


def normalised(text: str) -> str:
    """What texts are compared as: NFKC (full and half width alike), no case, runs of blanks as one blank, no quotes
    around and no full stop after."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return plain.strip("\"'“”‘’ ").rstrip(".。 ")


# Texts of choices as they are compared with what a reply says.


LONG_CHOICE = 12
"""From this many characters on, a choice's text is told from other prose without punctuation after it."""

TOLD_APART = 20
"""So many characters of a choice's text, beside its letter, tell that the letter is a choice's."""

_MARKUP = re.compile(r"[*`$]|\\(?:text|mathrm|mathbf|textbf|mathsf|mathit|rm|bf)\b|\\(?=[()\[\]])|\\[,;! ]")
_ENDS = re.compile(r"[.,;:!?)\]}\"'”’]{1,3}(?:\s|$)|\s?\n|\s\(|$")

_COMPLETE = re.compile(r"[.!][\"'”’)\]}*]{0,3}$")


def without_markup(text: str) -> str:
    return _MARKUP.sub("", text)


def normalised_choice(text: str) -> str:
    """Lower case, single blanks, no markup, no quotes or brackets before and no full stop after."""
    plain = without_markup(final_part(text)).casefold().strip(" \t\n\"'“”‘’([{")
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"[ \t]+", " ", plain)).rstrip(". ")


def match_text(head: str, texts: Mapping[str, str]) -> tuple[str, int] | None:
    """The letter of the choice whose whole text the head begins with, and that text's length.

    The longest choice wins; None where two choices share the text.
    """
    start = normalised_choice(head)
    fitting = [text for text in texts.values() if text and start.startswith(text) and _ends_there(start, text)]
    if not fitting:
        return None
    longest = max(fitting, key=len)
    letters = [letter for letter, text in texts.items() if text == longest]
    return (letters[0], len(longest)) if len(letters) == 1 else None


def is_text(line: str, text: str) -> bool:
    """Whether a line is a choice's text and nothing else."""
    return bool(text) and normalised_choice(line) == text


def is_complete(reply: str) -> bool:
    """Whether the reply ends as a sentence does; one that broke off might have gone on."""
    return _COMPLETE.search(reply[-8:]) is not None


def _ends_there(start: str, text: str) -> bool:
    if _ENDS.match(start, len(text)):
        return True
    return len(text) >= LONG_CHOICE and not start[len(text)].isalnum()


# Reads texts that stand below an announcement as bullets or as a numbered list.


UNCLEAR_LIST = "a list is announced, but it cannot be read"

BULLET = re.compile(
    r"(?P<indent>[ \t]*)(?:(?P<mark>[-*•‣–])[ \t]+|(?P<number>[0-9]{1,3})(?:[.)][ \t]+|、[ \t]*))(?P<text>\S.*)"
)
_EMPHASIS = re.compile(r"(?<![*_])(?:\*{1,3}|_{1,3})$")


def read_bullets(head: str) -> ExtractedAnswer | None:
    """The bullets that follow an announcement, on the lines below it; None where none do.

    They end at the first line that is no bullet. A single numbered line is none: it may be the text itself
    ("1. FC Köln"). Bullets that are indented differently, marked differently or go on below themselves are unread.
    """
    first, *lines = head.splitlines()
    if first.strip(":*_ \t") and not first.rstrip("*_ \t").endswith(":"):
        return None
    bullets: list[re.Match[str]] = []
    for line in filter(str.strip, lines):
        bullet = BULLET.fullmatch(line)
        if bullet is None and bullets and line[0].isspace():
            return unread(UNCLEAR_LIST, line)
        if bullet is None:
            break
        bullets.append(bullet)
    if not bullets or (len(bullets) == 1 and bullets[0]["number"]):
        return None
    numbers = [bullet["number"] and int(bullet["number"]) for bullet in bullets]
    if len({(bullet["indent"], bullet["mark"]) for bullet in bullets}) > 1 or (
        bullets[0]["number"] and numbers != list(range(1, len(bullets) + 1))
    ):
        return unread(UNCLEAR_LIST, bullets[0][0])
    return ExtractedAnswer(tuple(undressed(bullet["text"].strip().rstrip(",;")) for bullet in bullets))


def after_marks(head: str, marks: str) -> str:
    """What follows an announcement, without the `marks` before it: those that end the label ("**Answer:** "), and those
    that open emphasis, which go from the end of the line as well ("Answer: *Paris*", "**Answer: Paris**")."""
    head = head.strip()
    text = head.lstrip(marks)
    opened = head[: len(head) - len(text)]
    line, newline, below = text.partition("\n")
    closing = _EMPHASIS.search(line)
    if closing and (opened.endswith(closing[0]) or (closing[0] == "**" and line.count("**") % 2)):
        line = line[: closing.start()].rstrip()
    return line + newline + below


def undressed(line: str) -> str:
    """Takes off bold, italic or code marks that stand on both sides; one-sided marks may belong to the text."""
    for mark in ("**", "__", "*", "`"):
        if len(line) > 2 * len(mark) and line.startswith(mark) and line.endswith(mark):
            return line[len(mark) : -len(mark)].strip()
    return line
