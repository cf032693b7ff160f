"""Mechanisms and causes in words, shared by the terminal, pages and reports."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.identified import TOLD_BY, DesignReach, Identified, ToldBy
from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.findings import AttributedCount, Findings
from toolablate.analysis.pairing import RIGHT, mean
from toolablate.traces.records import Attribution, Distraction, ErrorType, Mechanism, Method, Question, Score
from toolablate.traces.terminal_text import one_line

_DISTRACTIONS: Mapping[Distraction, str] = {
    "misleading_adoption": "misleading content adopted",
    "existence_as_norm": "existence taken as norm",
    "over_engineering": "over-engineering",
}
_ERROR_TYPES: Mapping[ErrorType, str] = {
    "over_simplification": "over-simplification",
    "reasoning": "reasoning",
    "knowledge": "missing or wrong knowledge",
    "hallucination": "hallucination",
    "misinterpretation": "question misread",
    "calculation": "calculation",
    "other": "other",
}
_METHODS = {"trace": "by trace", "replay": "by replay", "judge": "by judge"}

AS_WITHOUT = "sampling noise, as without tools"


def distraction_name(distraction: Distraction) -> str:
    return _DISTRACTIONS[distraction]


def error_type_name(error_type: ErrorType) -> str:
    return _ERROR_TYPES[error_type]


def attributed(attribution: Attribution) -> str:
    """`retrieval distraction (over-engineering)`."""
    name = mechanism_name(attribution.mechanism)
    return f"{name} ({distraction_name(attribution.distraction)})" if attribution.distraction else name


def attributed_to(attribution: Attribution) -> str:
    """The same for one trial: sampling noise by trace is what trials without tools would have had wrong as well."""
    expected = attribution.mechanism == "sampling_noise" and attribution.method == "trace"
    return AS_WITHOUT if expected else attributed(attribution)


def method_name(attribution: Attribution) -> str:
    return _METHODS[attribution.method]


def chance(value: float) -> str:
    """A probability: `.82`, `1.0`."""
    if 0.995 <= value < 1:
        return "over .99"
    shown = f"{value:.2f}"
    return shown[1:] if shown.startswith("0") else shown[:-1]


def probable(value: float) -> str:
    """The probability of a cause: `.82`, `under .50`. What is less likely than not is never shown as one half."""
    return "under .50" if 0.495 <= value < 0.5 else "over .50" if 0.5 < value < 0.505 else chance(value)


def right_in(scores: tuple[float, ...]) -> int:
    return sum(score >= RIGHT for score in scores)


def right_of(scores: tuple[float, ...]) -> str:
    """`3 of 4 right`, with the mean where scores are graded."""
    graded = any(0 < score < 1 for score in scores)
    return f"{right_in(scores)} of {len(scores)} right" + (f" (mean score {chance(mean(scores))})" if graded else "")


# How many wrong trials are attributed to what, for pages and reports.


METHODS: Mapping[Method, str] = {"replay": "By replay", "trace": "By trace", "judge": "By judge"}
BY_TRACE = (
    "By trace: a hypothesis, by rules over the trace alone. Sampling noise: as many as are expected to be wrong without"
    " tools as well. Not known: the rest, without a sign in the trace."
)
MEASURED_BY = "toolablate attribute STORE --replay"


@dataclass(frozen=True, slots=True)
class Counted:
    """The wrong trials of one model and condition that are attributed to one mechanism: all, and by each method."""

    model: str
    condition: str
    mechanism: Mechanism
    name: str
    trials: int
    by: Mapping[Method, int]


def counted(findings: Findings) -> list[Counted]:
    """By model and condition, as the store has them; of each the mechanism of most trials first."""
    of: dict[tuple[str, str, Mechanism], list[AttributedCount]] = {}
    for each in () if findings.why is None else findings.why.attributed:
        of.setdefault((each.model, each.condition, each.mechanism), []).append(each)
    found = [_counted(own) for own in of.values()]
    models, conditions = (
        {name: place for place, name in enumerate(names)} for names in (findings.models, findings.conditions)
    )
    return sorted(
        found,
        key=lambda row: (
            *(models.get(row.model, len(models)), conditions.get(row.condition, len(conditions))),
            *(-row.trials, row.mechanism),
        ),
    )


def methods_of(rows: Sequence[Counted]) -> list[Method]:
    return [method for method in METHODS if any(row.by.get(method) for row in rows)]


def how_alone(methods: Sequence[Method]) -> str:
    """Where all are attributed by one method: by which."""
    return f", {METHODS[methods[0]].lower()}" if len(methods) == 1 else ""


def how_known(findings: Findings, rows: Sequence[Counted]) -> Iterator[str]:
    """How reliable the counts are."""
    yield "Each wrong trial is attributed to one mechanism."
    if "trace" in methods_of(rows):
        yield BY_TRACE
        if findings.imported:
            yield "Trials of others' logs cannot be replayed: their models cannot be asked again."


def measured_by(findings: Findings, rows: Sequence[Counted]) -> str:
    """The command that replays what is attributed by trace; "" where nothing is, or it cannot be."""
    return MEASURED_BY if "trace" in methods_of(rows) and not findings.imported else ""


def _counted(own: list[AttributedCount]) -> Counted:
    first, by = own[0], {each.method: each.trials for each in own}
    name = mechanism_name(first.mechanism)
    if first.mechanism == "sampling_noise" and "trace" in by:
        name = AS_WITHOUT
    return Counted(first.model, first.condition, first.mechanism, name, sum(by.values()), by)


# What is said of one trial, in sentences: for a page of a terminal and for one of a browser.


QUESTION_CHARS, ANSWER_CHARS = 600, 60
SHOWN_ANSWERS = 8


def asked(told: Explanation) -> Iterator[str]:
    yield one_line(told.question.prompt, max_chars=QUESTION_CHARS)
    if told.question.target.kind == "choice":
        options = zip(ascii_uppercase, told.question.choices, strict=False)
        yield one_line("; ".join(f"{letter}: {option}" for letter, option in options), max_chars=QUESTION_CHARS)
    answered = answer_given(told)
    target = told.question.target
    right = (
        _short(_with_options(told.question, target.letters)) if target.kind == "choice" else right_answer(told.question)
    )
    said = f"It answered {answered}" if answered else "It gave no readable answer"
    yield f"{said}{f' (correct: {right})' if right else ''}."


def answer_given(told: Explanation) -> str:
    """`B, 16334`; empty where none could be read."""
    return _short(_with_options(told.question, told.explained.evidence.score.extracted))


def _with_options(question: Question, letters: Sequence[str]) -> str:
    """`B, 16334`: one letter with the option that it stands for; several letters, and any other answer, as they are."""
    options = dict(zip(ascii_uppercase, question.choices, strict=False)) if question.target.kind == "choice" else {}
    option = options.get(letters[0], "") if len(letters) == 1 else ""
    return ", ".join([*letters, *([one_line(option)] if option else [])])


def right_answer(question: Question) -> str:
    """On one line, cut; empty where it takes more than that to say."""
    target = question.target
    match target.kind:
        case "choice":
            return _short(", ".join(target.letters))
        case "number":
            return f"{target.value:g}"
        case "reference":
            return _short(target.answer) if is_short(target.answer) else ""
        case "spans":
            return _short(", ".join(target.stated))
        case "text" | "math":
            return _short(target.answers[0])
        case "regex":
            return _short(f"what {target.pattern} is found in")
        case "code":
            return "code that passes the tests"
        case "checklist":
            return ""


MAX_REFERENCE_CHARS = 100
"""Of a reference answer that is told in one line."""


def is_short(reference: str) -> bool:
    return len(reference) <= MAX_REFERENCE_CHARS and reference == one_line(reference)


def without_tools(evidence: Evidence) -> Iterator[str]:
    scores = [each.score for each in evidence.no_tools if each.score.value is not None]
    if not scores:
        yield "No scored trial without tools."
        return
    values = tuple(score.value for score in scores if score.value is not None)
    answers = [_answered(each) for each in scores]
    # A last one takes no more room than to say that there is one.
    left = len(answers) - SHOWN_ANSWERS if len(answers) > SHOWN_ANSWERS + 1 else 0
    more = f" and {left} more" if left else ""
    yield f"{right_of(values)}: {'; '.join(answers[: len(answers) - left])}{more}"


def _answered(score: Score) -> str:
    return f"{_short(', '.join(score.extracted)) or 'nothing readable'}{'' if _right(score.value) else ' (wrong)'}"


def _right(value: float | None) -> bool:
    return value is not None and value >= RIGHT


def _short(text: str) -> str:
    return one_line(text, max_chars=ANSWER_CHARS)


# What a store's design can tell apart.


MOST_UNTOLD = 7


def reach_lines(reach: DesignReach, *, told: bool = True) -> Iterator[tuple[ToldBy, str]]:
    """By what mechanisms are told, and which; then, for those that are told by nothing, what would tell them. With
    `told` off only these. Conditions are named where it is not so for all of them."""
    every = {name for each in reach.mechanisms for name in each.conditions}
    groups: dict[tuple[ToldBy, str, tuple[str, ...]], list[Identified]] = defaultdict(list)
    for each in reach.mechanisms:
        groups[each.told_by, each.add, each.conditions].append(each)
    known: dict[ToldBy, list[str]] = defaultdict(list)
    untold: list[str] = []
    for (told_by, add, conditions), rows in groups.items():
        names = list(dict.fromkeys(each.mechanism for each in rows))
        of = ", ".join(repr(one_line(name, max_chars=40)) for name in conditions)
        said = ", ".join(map(mechanism_name, names)) + ("" if set(conditions) == every else f" of {of}")
        if told_by != "nothing":
            known[told_by].append(said)
            continue
        beside = dict.fromkeys(name for each in rows for name in each.not_apart_from if name not in names)
        apart = f" from {', '.join(map(mechanism_name, beside))}" if beside else ""
        untold.append(f"{said}: not told apart{apart}; add {add}")
    if told:
        yield from ((told_by, "; ".join(known[told_by])) for told_by in TOLD_BY if told_by in known)
    for said in untold[:MOST_UNTOLD]:
        yield "nothing", said
    if len(untold) > MOST_UNTOLD:
        yield "nothing", f"{len(untold) - MOST_UNTOLD} more: attribute --json, key identified"


def smallest_effects_told(reach: DesignReach) -> str:
    """One sentence; of many comparisons the range."""
    found = reach.smallest_effects
    known = sorted(each.points for each in found if each.points is not None)
    if not found:
        return ""
    questions = sorted({each.questions for each in found})
    asked = f"{questions[0]:,}" if len(questions) == 1 else f"{questions[0]:,} to {questions[-1]:,}"
    if not known:
        return f"Smallest effect that {asked} questions show: not known ({found[0].unknown})."
    points = f"{known[0]:.1f}" if len(known) == 1 else f"{known[0]:.1f} to {known[-1]:.1f}"
    rest = f" (not known for {len(found) - len(known)} of {len(found)})" if len(known) < len(found) else ""
    return (
        f"Smallest effect of tools that {asked} questions show, at 80 % power: {points} points{rest}. What a mechanism"
        " takes is not known before it is measured."
    )
