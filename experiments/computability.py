"""Whether an answer can be computed: by the form of question and answer, and by what programs gave in a store."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from toolablate.analysis.attribution.signals.adoption import gives, states
from toolablate.analysis.attribution.signals.answers import (
    MOST_UNIT_WORDS,
    NUMBER,
    UNIT_WORD,
    AnswerForm,
    normal_number,
    plain,
    texts_of,
)
from toolablate.analysis.attribution.signals.signal_types import Answered, CallSignal, Steps
from toolablate.experiments.environment.web import answers_of
from toolablate.traces.records import Question, Trace
from toolablate.traces.store import Store

Computable = Literal["yes", "no", "unclear"]
Computed = Literal["yes", "no"]

_NUMBER = re.compile(r"(?<![\w.])[-−+]?\d[\d,]*(?:\.\d+)?")


def computable(question: Question) -> Computable:
    """`yes` where code is asked for, or the answer is a number and the question has two or more to compute it from;
    `no` where the answer has no number; else `unclear`: a number that may as well be known.

    A proxy by form alone: a proof may need a computation, and a number may be known by heart.
    """
    target = question.target
    if target.kind == "code":
        return "yes"
    right = [question.choices[ord(letter) - ord("A")] for letter in getattr(target, "letters", ()) if question.choices]
    answers = right if target.kind == "choice" else list(answers_of(question))
    if target.kind == "choice" and not answers:
        return "unclear"
    if not any(_is_number(answer) for answer in answers):
        return "no"
    return "yes" if len(_NUMBER.findall(question.prompt)) > 1 else "unclear"


def _is_number(answer: str) -> bool:
    """Whether a number is most of it: `12.5 kJ/mol`, `x = 3`, but not a sentence that mentions one."""
    found = _NUMBER.search(answer)
    return found is not None and len(UNIT_WORD.findall(answer.replace(found[0], " ", 1))) <= MOST_UNIT_WORDS


# By programs that models wrote and ran.


def computed(store: Path, questions: Iterable[Question]) -> Mapping[str, Computed]:
    """By a question's identity: `yes` where a program of any trial computed the right answer, `no` where programs ran
    and none did. A program that has the answer written in it computes nothing.

    Left out are questions of which no program ran, and those whose right answer cannot be recognised in an output:
    code, letters of options that stand in the prompt, references of several words. Read are answered trials of
    conditions that leave results as tools gave them. Raises ToolablateError where the store cannot be read."""
    rights = {each.identity(): (AnswerForm.of(each), right) for each in questions if (right := _right_answers(each))}
    found: dict[str, Computed] = {}
    with Store(store) as opened:
        as_given = {each.identity() for each in opened.conditions() if not each.interventions}
        for trace in opened.traces(outcome="answered"):
            question = trace.trial.question
            ran = _ran(trace) if trace.trial.condition in as_given and question in rights else []
            if ran and found.get(question) != "yes":
                hit = any(_computes(call, *rights[question]) for call in ran)
                found[question] = "yes" if hit else "no"
    return found


def _ran(trace: Trace) -> list[CallSignal]:
    return [call for call in Steps.of(trace).calls if call.form == "code" and call.made.status == "ok"]


def _computes(call: CallSignal, form: AnswerForm, right: Sequence[Answered]) -> bool:
    return any(gives(call, form, each) and not states(call.asked, form, each) for each in right)


def _right_answers(question: Question) -> list[Answered]:
    """Each way in which the right answer may be said; none where an output cannot be compared with it."""
    target = question.target
    match target.kind:
        case "choice":
            said = [tuple(target.letters)] if question.choices else []
        case "number":
            said = [(normal_number(repr(target.value)),)]
        case "spans":
            said = [tuple(text for span in target.spans for text in texts_of(span))]
        case "text" | "math":
            said = [_number_in(each) or texts_of(each) for each in target.answers]
        case "reference":
            said = [_number_in(target.answer)]
        case _:
            said = []
    # A long text has no form in which it is looked for.
    return list(filter(None, said))


def _number_in(answer: str) -> Answered:
    """The number that an answer is, without its unit; () where it is none."""
    found = NUMBER.search(plain(answer)) if _is_number(answer) else None
    return (normal_number(found[0]),) if found else ()
