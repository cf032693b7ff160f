"""Which trials a selection means, said in the plainest way."""

import sqlite3
from collections import defaultdict
from contextlib import closing

from tests.viewer.index.stores import Made

from toolablate.analysis.selection import Selection
from toolablate.traces.store import Store, TrialSummary


def selected(made: Made, selection: Selection, baseline: str) -> set[str]:
    with Store(made.path) as store:
        seen = store.summaries()
        labels, said = _labels(store), _said(store)
        asked = {question.id: "\n".join((question.prompt, *question.choices)) for question in store.questions()}
        tools = {trace.trial.id: called(trace) for trace in store.traces()}
        answers = {each.trial: _answer(store, each) for each in seen}
    with closing(sqlite3.connect(made.path)) as connection:
        identities = dict(
            connection.execute("SELECT trials.id, questions.id FROM trials JOIN questions ON questions.key = question")
        )
    mechanisms = {each.trial: each.mechanism for each in made.attributions}
    turns = _turns(seen, baseline)

    def to_label(each: TrialSummary) -> bool:
        wrong = each.value is not None and each.value < 0.5 and each.condition != baseline
        attributed = any(other.trial in mechanisms for other in seen)
        return (each.trial in mechanisms if attributed else wrong) and said[each.trial].get(
            selection.unlabelled
        ) is None

    def fits(each: TrialSummary) -> bool:
        ending = each.verdict or "unscored"
        if each.outcome != "answered" and each.verdict != "correct":
            ending = each.outcome
        text = selection.text.casefold()
        return (
            _among(selection.models, each.model)
            and _among(selection.conditions, each.condition)
            and _among(selection.domains, each.domain)
            and _among(selection.difficulties, each.difficulty)
            and _among(selection.endings, ending)
            and _among(selection.flips, turns.get((each.model, each.condition, each.question)))
            and _among(selection.mechanisms, mechanisms.get(each.trial))
            and _among(selection.labels, labels.get(each.trial))
            and (not selection.unlabelled or to_label(each))
            and (not selection.tools or bool(set(selection.tools) & tools[each.trial]))
            and (
                text in asked[each.question].casefold()
                or text in each.question.casefold()
                or text in answers[each.trial].casefold()
                or (len(text.strip()) >= 8 and f"{identities[each.trial]} {each.trial}".find(text.strip()) in (0, 33))
            )
        )

    return {each.trial for each in seen if fits(each)}


def called(trace):
    return {event.call.name for event in trace.events if event.kind == "tool_call"}


def _among(wanted, value) -> bool:
    return not wanted or value in wanted


def _said(store: Store) -> dict[str, dict[str, str | None]]:
    said: dict[str, dict[str, str | None]] = defaultdict(dict)
    for each in store.labels():
        said[each.trial].pop(each.person, None)
        said[each.trial][each.person] = each.mechanism
    return said


def _labels(store: Store) -> dict[str, str]:
    said = _said(store)
    return {trial: kept[-1] for trial, people in said.items() if (kept := [each for each in people.values() if each])}


def _answer(store: Store, each: TrialSummary) -> str:
    if each.verdict is None:
        return ""
    return ", ".join(store.scores(each.trial)[0].extracted)


def _turns(seen: list[TrialSummary], baseline: str) -> dict[tuple[str, str, str], str]:
    values: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for each in seen:
        if each.outcome != "failed" and each.value is not None:
            values[each.model, each.condition, each.question].append(each.value)
    right = {key: sum(found) / len(found) >= 0.5 for key, found in values.items()}
    names = {(True, True): "both_right", (True, False): "right_to_wrong", (False, True): "wrong_to_right"}
    return {
        (model, condition, question): names.get((right[model, baseline, question], now), "both_wrong")
        for (model, condition, question), now in right.items()
        if condition != baseline and (model, baseline, question) in right
    }
