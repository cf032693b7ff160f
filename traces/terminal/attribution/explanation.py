"""One trial on a page: what it would have said without tools, where its belief turned, and by what."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from toolablate.traces.analysis.attribution.evidence import Evidence
from toolablate.traces.analysis.attribution.explanation import Explanation
from toolablate.traces.analysis.attribution.ledger import points
from toolablate.traces.analysis.attribution.naming import account_name
from toolablate.traces.analysis.pairing import RIGHT
from toolablate.traces.records import Attribution, Diagnosis, Score
from toolablate.traces.terminal.answer_key import is_short
from toolablate.traces.terminal.attribution.otherwise import otherwise, worths
from toolablate.traces.terminal.attribution.steps import steps_table
from toolablate.traces.terminal.attribution.turning import turned
from toolablate.traces.terminal.attribution.unknowns import unknowns
from toolablate.traces.terminal.attribution.wording import (
    Apart,
    Said,
    attributed,
    chance,
    distraction_name,
    method_name,
    right_of,
)
from toolablate.traces.terminal.numbers import signed
from toolablate.traces.terminal.plain import ID_CHARS, inert, one_line
from toolablate.traces.terminal.simulated import simulated_banner

PAGE_CELLS = 80
QUESTION_CHARS, ANSWER_CHARS = 300, 60
SHOWN_ANSWERS = 8
LEAST_POINTS = 0.05


def explanation_view(told: Explanation) -> RenderableType:
    """At most PAGE_CELLS wide. Everything foreign is made inert."""
    return Constrain(_Page(told), PAGE_CELLS)


@dataclass(frozen=True, slots=True)
class _Page:
    told: Explanation

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        told = self.told
        yield from _heading(told)
        yield from _section("Without tools", _bare(told.explained.evidence))
        yield Text()
        yield Text("What it did", style="bold")
        yield Padding(steps_table(told, options.max_width - 2), (0, 0, 0, 2))
        yield from _section("Where it turned", turned(told))
        changed = [(right_of(each.scores), each.changed) for each in otherwise(told.explained.evidence)]
        if changed:
            yield from _section("What happens otherwise", ())
            yield Padding(_pairs(changed), (0, 0, 0, 2))
            yield from _lines(worths(told.explained.evidence))
        yield from _section("Why", _why(told))
        yield from _lines(_sum(told.explained.evidence))
        yield from _section("What is not known", unknowns(told))


def _heading(told: Explanation) -> Iterator[RenderableType]:
    evidence = told.explained.evidence
    score = evidence.score
    value = "without a score" if score.value is None else f"{score.verdict} ({score.value:g})"
    trial = evidence.signals.trial[:ID_CHARS]
    ended = " · out of budget" if told.outcome == "budget" else ""
    whose = f"{one_line(evidence.model)} · {one_line(evidence.condition)} · repeat {told.repeat}{ended}"
    yield Text.assemble("Trial ", (trial, "bold"), f"  {whose} · {value}", overflow="fold")
    if told.simulated:
        yield simulated_banner()
    domain = f" ({one_line(evidence.domain)})" if evidence.domain else ""
    yield from _section(f"Question {one_line(evidence.question)}{domain}", _asked(told))


def _asked(told: Explanation) -> Iterator[str]:
    yield one_line(told.question.prompt, max_chars=QUESTION_CHARS)
    answered = _short(", ".join(told.explained.evidence.score.extracted)) or "nothing that could be read"
    right = _right_answer(told)
    yield f"It answered {answered}{f'; right is {right}' if right else ''}."


def _right_answer(told: Explanation) -> str:
    target = told.question.target
    match target.kind:
        case "choice":
            return _short(", ".join(target.letters))
        case "number":
            return f"{target.value:g}"
        case "reference":
            return _short(target.answer) if is_short(target.answer) else ""
        case _:
            return _short(", ".join(target.spans))


def _bare(evidence: Evidence) -> Iterator[str]:
    scores = [each.score for each in evidence.bare if each.score.value is not None]
    if not scores:
        yield "The question was not answered without tools, or not scored."
        return
    values = tuple(score.value for score in scores if score.value is not None)
    answers = [_answered(each) for each in scores]
    more = f" and {len(answers) - SHOWN_ANSWERS} more" if len(answers) > SHOWN_ANSWERS else ""
    yield f"{right_of(values)}: {'; '.join(answers[:SHOWN_ANSWERS])}{more}"


def _answered(score: Score) -> str:
    return f"{_short(', '.join(score.extracted)) or '(none)'}{'' if _right(score.value) else ' (wrong)'}"


def _why(told: Explanation) -> Iterator[str]:
    explained = told.explained
    if explained.attribution is None:
        right = _right(explained.evidence.score.value)
        yield "This trial is right: there is nothing to blame." if right else "Nothing was made of this trial."
        yield from _gains(explained.evidence)
    else:
        yield f"It is put down to {_sentence(explained.attribution)}."
        yield from _grounds(explained.attribution, tried=explained.evidence.trajectory is not None)
    for other in (each for each in explained.hypotheses if each.mechanism != "unknown"):
        yield f"Or else {_sentence(other)}: {one_line(other.note) or 'a hypothesis'}."
    for diagnosis in explained.evidence.diagnoses:
        yield from _read_by(diagnosis)


def _sum(evidence: Evidence) -> Iterator[str]:
    """Without terms that are 0."""
    found = points(evidence.chain)
    parts = [f"{account_name(name)} {signed(value)}" for name, value in found.items() if abs(value) >= LEAST_POINTS]
    if parts:
        yield f"Against no tools it is {signed(sum(found.values()))} points: {', '.join(parts)}."


def _read_by(diagnosis: Diagnosis) -> Iterator[str]:
    judge = one_line(diagnosis.judge)
    if diagnosis.error_type is None:
        yield f"The judge {judge} gave no label: {one_line(diagnosis.reason)}"
        return
    at = f" ({_events(diagnosis.evidence)})" if diagnosis.evidence else ""
    error = diagnosis.error_type.replace("_", " ")
    yield f"The judge {judge} reads {error}{at}, a hypothesis: {one_line(diagnosis.reason)}"
    if diagnosis.distraction:
        at = f" ({_events(diagnosis.distraction_evidence)})" if diagnosis.distraction_evidence else ""
        reason = one_line(diagnosis.distraction_reason)
        yield f"It reads {distraction_name(diagnosis.distraction)}{at}, a hypothesis: {reason}"


def _sentence(attribution: Attribution) -> str:
    return (
        f"{attributed(attribution)}, {method_name(attribution)}, with a confidence of {chance(attribution.confidence)}"
    )


def _grounds(attribution: Attribution, *, tried: bool) -> Iterator[str]:
    if attribution.note:
        note = one_line(attribution.note, max_chars=400)
        yield f"{note[:1].upper()}{note[1:]}."
    if attribution.evidence:
        yield f"Evidence: {_events(attribution.evidence)}."
    if attribution.method != "replay":
        why = "replays have no part in it" if tried else "nothing was tried otherwise"
        yield f"By trace or judge it is a hypothesis: {why}."


def _gains(evidence: Evidence) -> Iterator[str]:
    signals = evidence.chain.replay.signals if evidence.chain.replay else frozenset()
    gains = {
        "computed": "Its code found what the model did not know.",
        "retrieved": "Its search found what the model did not know.",
        "answer_leak": "A search result held the answer beside the question.",
    }
    yield from (text for signal, text in gains.items() if signal in signals)


def _events(events: tuple[int, ...]) -> str:
    return f"event{'' if len(events) == 1 else 's'} {', '.join(map(str, events))}"


def _section(title: str, lines: Iterable[Said]) -> Iterator[RenderableType]:
    yield Text()
    yield Text(title, style="bold", overflow="fold")
    yield from _lines(lines)


def _lines(lines: Iterable[Said]) -> Iterator[RenderableType]:
    for line in lines:
        if isinstance(line, Apart):
            yield Padding(inert(line.text, "cyan"), (0, 0, 0, 4))
        else:
            yield Padding(inert(line), (0, 0, 0, 2))


def _pairs(rows: list[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for came, changed in rows:
        table.add_row(Text(came), Text(changed))
    return table


def _right(value: float | None) -> bool:
    return value is not None and value >= RIGHT


def _short(text: str) -> str:
    return one_line(text, max_chars=ANSWER_CHARS)
