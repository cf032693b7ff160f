"""A line of one event, as it is quoted: the one that tells most, code and queries whole."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from string import ascii_uppercase

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.reports.why.happened import Apart, Said, answers_of, reply_of
from toolablate.traces.records import ModelCall, ToolCall
from toolablate.traces.terminal_text import inert, one_line, plain_text

QUOTED_CHARS, BEFORE_MATCH = 600, 200
QUOTED_CODE, QUOTED_RESULT = 2_000, 1_000
MOST_OUTPUT_LINES, MOST_CHARS = 400, 40_000
MOST_LINES = 3
_OF_SEARCH = "Results for "
"""How a list of hits begins, which says what was asked alone."""
_NUMBERED = re.compile(r"L\d+: ")
_WORD = re.compile(r"\w{4,}")

BARE_ANSWER = re.compile(r"\W*(?:final )?(?:answer|答案|antwort)\W*\S{0,12}\W*", re.IGNORECASE)
"""What the page says already."""


def quoted(number: int | None, told: Explanation) -> Iterator[Said]:
    """What it gives or writes there, by the line that matters most: one that checks cases in place of the question, or
    that holds the final answer or words of the final reply; else one with words of the wrong options that it chose, or
    the first, or of a reply the last."""
    if number is None or number >= len(told.conversation):
        return
    evidence, event = told.explained.evidence, told.conversation[number]
    hints: Set[str] = frozenset()
    match event:
        case ModelCall():
            matters: Sequence[str] = [check.text for check in evidence.signals.reformulation.checks]
            asked = [(one_line(call.name), _decoded(call.arguments)) for call in event.reply.message.tool_calls]
            lines = [each for each in event.reply.message.content.strip().splitlines() if each.strip()]
            says = [each for each in lines if not BARE_ANSWER.fullmatch(each.strip())]
            last = "".join((says or lines)[-1:])
            holds = (each for each in asked if any(wanted.strip() in each[1] for wanted in matters))
            name, text = next(holds, asked[0] if asked else ("", last))
            if not asked and BARE_ANSWER.fullmatch(last.strip()):
                return
            what = f"calls {name}" if asked else "replies"
            if asked and "\n" in text.strip() and len(text) <= QUOTED_CODE:
                yield Apart(f"event {number}, {what}:\n{_code(text)}")
                return
        case ToolCall():
            text = event.output or event.error
            what = f"{one_line(event.call.name)} {'gives' if event.status == 'ok' else 'fails'}"
            yield from _asked_with(number, event, told)
            repeated = (run.text for run in evidence.signals.echo.runs if run.event == number)
            matters, hints = (*answers_of(told), *repeated), _words_of_wrong_options(told)
            read = plain_text(text).strip()
            telling = any(_holds(read, each) for each in matters) or hints & _words(read)
            if "\n" in read and len(read) <= QUOTED_RESULT and not telling:
                yield Apart(f"event {number}, {what}:\n{_code(read)}")
                return
        case _:
            return
    yield Apart(f"event {number}, {what}: │ {telling_line(text, matters, hints)}")


def _asked_with(number: int, event: ToolCall, told: Explanation) -> Iterator[Apart]:
    """The code or the query that a result answers, whole."""
    form = next((call.form for call in told.explained.evidence.signals.calls if call.event == number), None)
    asked = _decoded(event.call.arguments).strip()
    if form in ("code", "search") and 0 < len(asked) <= QUOTED_CODE:
        what = f"event {reply_of(number, told)}, calls {one_line(event.call.name)}:"
        yield Apart(f"{what}\n{_code(asked)}" if "\n" in asked else f"{what} │ {inert(asked).plain}")


def _holds(text: str, wanted: str) -> bool:
    return len(wanted.strip()) > 1 and wanted.strip().lower() in text.lower()


def _code(text: str) -> str:
    return "\n".join(f"│ {inert(line).plain}" for line in text.strip().splitlines())


def telling_line(text: str, matters: Sequence[str], hints: Set[str] = frozenset()) -> str:
    """The first that holds one of the texts that matter, and two more that hold it; or else the first of those with the
    most of these words, rare ones first, or the first."""
    read = [line.strip() for line in plain_text(text[:MOST_CHARS]).splitlines()[:MOST_OUTPUT_LINES] if line.strip()]
    # A page is numbered line by line; what stands before is the browser's own.
    lines = [line for line in read if _NUMBERED.match(line)] or [
        line for line in read if not line.startswith(_OF_SEARCH)
    ]
    lines = lines or read
    for each in (wanted.strip().lower() for wanted in matters if len(wanted.strip()) > 1):
        found = list(dict.fromkeys(line for line in lines if each in line.lower()))[:MOST_LINES]
        if found:
            return " │ ".join(cut(line, line.lower().index(each)) for line in found)
    held = [hints & _words(line) for line in lines]
    lines_with = Counter(word for words in held for word in words)
    telling = [sum(1 / lines_with[word] for word in sorted(words)) for words in held]
    return cut(lines[telling.index(max(telling))], 0) if lines else "(nothing)"


def held(text: str, wanted: Sequence[str]) -> str:
    """A text from a little before what is looked for on; empty where it is not in it, or at its beginning."""
    whole = one_line(text, max_chars=MOST_CHARS)
    places = [whole.lower().find(each.lower()) for each in wanted if len(each) > 1]
    at = min((place for place in places if place >= 0), default=-1)
    return f"…{whole[at - BEFORE_HELD :]}" if at > BEFORE_HELD else ""


BEFORE_HELD = 10


def cut(line: str, at: int) -> str:
    shown = inert(line).plain.replace("\n", " ")
    start = 0 if len(shown) <= QUOTED_CHARS or at < QUOTED_CHARS - BEFORE_MATCH else at - BEFORE_MATCH
    cut = shown[start : start + QUOTED_CHARS]
    return f"{'…' if start else ''}{cut}{'…' if start + QUOTED_CHARS < len(shown) else ''}"


def _words_of_wrong_options(told: Explanation) -> Set[str]:
    """Words of the wrong options that it chose which neither the question nor another option has."""
    question = told.question
    target = question.target
    if target.kind != "choice":
        return frozenset()
    chosen = set(told.explained.evidence.score.extracted) - set(target.letters)
    options = dict(zip(ascii_uppercase, question.choices, strict=False))
    others = " ".join(option for letter, option in options.items() if letter not in chosen)
    return _words(" ".join(options.get(letter, "") for letter in chosen)) - _words(f"{question.prompt} {others}")


def _words(text: str) -> Set[str]:
    return frozenset(_WORD.findall(text.lower()))


def _decoded(arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    if not isinstance(given, dict):
        return arguments
    return "\n".join(each if isinstance(each, str) else str(each) for each in given.values())
