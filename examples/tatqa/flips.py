"""Lists the questions that `pot` turned wrong, with the first label of each: what its trace alone points to.

    python examples/tatqa/flips.py STORE [--sample DIRECT COT] [--seed N] [--without ID ...] [--unlabelled] [--json]

A flip is a question that `direct`, or `cot`, answers right and `pot` wrong. Its label is that of `attribute_by_trace`
beside the trial that is right. `--sample` draws so many of each at random, no question twice; `--without` leaves
questions out of the draw, by the first characters of their ids; `--unlabelled` leaves the labels out, for who wants to
read a flip before seeing what it was called.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.analysis.attribution.signals.signal_types import Signals
from toolablate.analysis.attribution.trace_rules import NoToolTrial, attribute_by_trace
from toolablate.traces.records import Attribution, Question, Score, Trace
from toolablate.traces.store import Store

BASELINES = ("direct", "cot")
TURNED = "pot"


@dataclass(frozen=True, slots=True)
class LabelledFlip:
    """`code`, `status` and `output` are of the program's call; `label` and `note` are "" where they were left out."""

    baseline: str
    question: str
    trial: str
    asked: str
    wanted: tuple[str, ...]
    before: str
    code: str
    status: str
    output: str
    after: str
    label: str
    confidence: float
    note: str


@dataclass(frozen=True, slots=True)
class _Seen:
    trace: Trace
    question: Question
    signals: Signals
    score: Score


def flips(store: Store) -> list[LabelledFlip]:
    """Those of `direct`, then those of `cot`, each in the order of their questions' ids."""
    found = []
    for seen in sorted(_seen(store), key=lambda each: each[TURNED].question.id):
        for baseline in BASELINES:
            before, after = seen[baseline], seen[TURNED]
            label = attribute_by_trace(after.signals, after.score, [NoToolTrial(before.signals, before.score)])
            if before.score.value == 1 and label is not None:
                found.append(_flip(baseline, before, after, label))
    return sorted(found, key=lambda flip: BASELINES.index(flip.baseline))


def _seen(store: Store) -> list[dict[str, _Seen]]:
    """The trials of each question that has all of them, by condition."""
    questions = {question.identity(): question for question in store.questions()}
    conditions = {condition.identity(): condition for condition in store.conditions()}
    found: dict[str, dict[str, _Seen]] = {}
    for trace in store.traces():
        question, condition = questions[trace.trial.question], conditions[trace.trial.condition]
        signals, score = signals_of(trace, question, condition), store.scores(trace.trial.id)[0]
        found.setdefault(trace.trial.question, {})[condition.name] = _Seen(trace, question, signals, score)
    return [seen for seen in found.values() if {*BASELINES, TURNED} <= seen.keys()]


def _flip(baseline: str, before: _Seen, after: _Seen, label: Attribution) -> LabelledFlip:
    call = next((event for event in after.trace.events if event.kind == "tool_call"), None)
    target = after.question.target
    return LabelledFlip(
        baseline=baseline,
        question=after.question.id,
        trial=after.trace.trial.id,
        asked=after.question.prompt,
        wanted=target.stated if target.kind == "spans" else (),
        before=_answer(before.trace),
        code=json.loads(call.call.arguments)["code"] if call else "",
        status=call.status if call else "",
        output=call.output if call else "",
        after=_answer(after.trace),
        label=label.mechanism,
        confidence=label.confidence,
        note=label.note,
    )


def sample(found: Sequence[LabelledFlip], sizes: Sequence[int], seed: int) -> list[LabelledFlip]:
    """So many of each baseline, in random order; what was drawn of one is not drawn of another."""
    draws, drawn = random.Random(seed), list[LabelledFlip]()  # noqa: S311 - a sample, not a secret
    for baseline, size in zip(BASELINES, sizes, strict=True):
        taken = {flip.question for flip in drawn}
        left = [flip for flip in found if flip.baseline == baseline and flip.question not in taken]
        drawn += draws.sample(left, size)
    return drawn


def _answer(trace: Trace) -> str:
    return next((event.text for event in reversed(trace.events) if event.kind == "answer"), "")


def main() -> None:
    parser = argparse.ArgumentParser(description="List the questions that pot turned wrong, with their labels.")
    parser.add_argument("store", type=Path)
    parser.add_argument("--sample", type=int, nargs=2, metavar=("DIRECT", "COT"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without", nargs="+", default=[], metavar="ID")
    parser.add_argument("--unlabelled", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with Store(options.store) as store:
        found = flips(store)
    if options.sample:
        left = [flip for flip in found if not flip.question.startswith(tuple(options.without))]
        found = sample(left, options.sample, options.seed)
    if options.unlabelled:
        found = [replace(flip, label="", confidence=0.0, note="") for flip in found]
    if options.json:
        print(json.dumps(list(map(asdict, found)), ensure_ascii=False))
        return
    for flip in found:
        said = f"  {flip.label} ({flip.confidence:.2f}): {flip.note}" if flip.label else ""
        print(f"{flip.baseline:7s}{flip.question}  trial {flip.trial[:10]}{said}")
    for (baseline, label), count in sorted(Counter((flip.baseline, flip.label) for flip in found).items()):
        print(f"{count:5d}  {baseline} -> {TURNED}{f': {label}' if label else ''}")


if __name__ == "__main__":
    main()
