"""What a judge is asked about a failed trial.

All that the model and its tools wrote is foreign text. It stands between marks that carry a code, which is drawn from a
digest of all that the marks enclose: nobody who writes such text can know the code that it will be given, and so none
can close the marks.
"""

from toolablate.benchmarks.diagnosis.case import Case, Part
from toolablate.benchmarks.diagnosis.wording import Fault, Words, words_for
from toolablate.benchmarks.judging.request import CODE_DIGITS, with_note
from toolablate.traces.records import Message, ModelReply, ModelRequest, digest_json

QUESTION_CHARS = 20_000
TEXT_CHARS = 4_000
"""Of one text of a step, and of the final answer twice as many; fewer where there are many texts."""

FEWEST_CHARS = 400
ALL_CHARS = 60_000
MOST_TEXTS = 150
HEAD = 0.6
"""The share of a shortened text that is its beginning."""


def request_of(case: Case) -> ModelRequest:
    """The case in our words, its long texts shortened at both ends."""
    words = words_for(case.language)
    first, last = _ends(case.parts)
    shown = max(FEWEST_CHARS, min(TEXT_CHARS, ALL_CHARS // max(len(first) + len(last), 1)))
    texts = [(words.question, _shortened(case.question, QUESTION_CHARS, words))]
    texts += [_text(part, shown, words) for part in first]
    before = len(texts)
    texts += [_text(part, shown, words) for part in last]
    answer = _shortened(case.answer, 2 * TEXT_CHARS, words) if case.answer.strip() else words.no_answer
    texts.append((words.answer.format(step=case.answered), answer))
    fenced = _fenced(texts)
    if last:
        left_out = len(case.parts) - len(first) - len(last)
        fenced.insert(before, words.steps_left_out.format(count=left_out))
    user = "\n\n".join([*fenced, words.closing])
    return ModelRequest(messages=(Message(role="system", content=words.system), Message(role="user", content=user)))


def asked_again(request: ModelRequest, reply: ModelReply, fault: Fault, language: str) -> ModelRequest:
    """The request with the judge's reply to it and what is wrong with that."""
    words = words_for(language)
    return with_note(request, reply, words.again.format(fault=words.faults[fault]))


def _ends(parts: tuple[Part, ...]) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """All of them, or the first and the last where they are too many."""
    half = MOST_TEXTS // 2
    return (parts, ()) if len(parts) <= MOST_TEXTS else (parts[:half], parts[-half:])


def _text(part: Part, most: int, words: Words) -> tuple[str, str]:
    return words.step.format(step=part.step, part=words.parts[part.kind]), _shortened(part.text, most, words)


def _shortened(text: str, most: int, words: Words) -> str:
    if len(text) <= most:
        return text
    head = int(HEAD * most)
    return text[:head] + words.left_out.format(count=f"{len(text) - most:,}") + text[head - most :]


def _fenced(texts: list[tuple[str, str]]) -> list[str]:
    code = digest_json(texts)[:CODE_DIGITS]
    return [f"<{name} {code}>\n{text}\n</{name} {code}>" for name, text in texts]
