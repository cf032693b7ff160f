"""Two stores beside each other: what is paired, what is said first, and how often nothing is taken for something."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.analysis.store_pairs import stored
from tests.experiments.attribution.commands import called, said
from tests.traces.samples import CODE, MODEL, NONE, WHEN, question

from toolablate.analysis.two_stores import StoreSide, beside
from toolablate.traces.errors import InputError
from toolablate.traces.records import ChoiceTarget, OpenAIModel, Run
from toolablate.traces.store import TrialSummary

RUN = Run(id="r", started_at=WHEN, plan="", toolablate="0.1.0", baseline="none")


async def test_the_same_is_paired_and_what_differs_is_said_first(tmp_path: Path) -> None:
    asked = tuple(question(number) for number in range(6))
    here = await stored(tmp_path / "old.sqlite", {"none": 4, "python": 5}, questions=asked)
    mended = asked[1].model_copy(update={"target": ChoiceTarget(letters=("B",))})
    other = question(5).model_copy(update={"prompt": "Something else."})
    there = await stored(
        *(tmp_path / "new.sqlite", {"none": 4, "python": 2}),
        questions=(asked[0], mended, *asked[2:5], other, question(9)),
        model=OpenAIModel(name="gpt-y"),
        conditions=(NONE, CODE.model_copy(update={"prompt": "Think first."})),
        scorer="choice-2",
        toolablate="0.2.0",
    )
    found = json.loads(said("compare", here, "--against", there, "--json"))
    assert (found["here"], found["there"], found["shared_questions"]) == ("old.sqlite", "new.sqlite", 5)
    assert found["differences"][:6] == [
        "Of one id, asking something else, and left out: 1 question (q5).",
        "In new.sqlite alone, and left out: 1 question.",
        "With another answer key: 1 question (q1). Score one store again by the other's.",
        "Scores are by other scorers: choice (version 1) in old.sqlite, choice-2 (version 1) in new.sqlite.",
        "The models differ: gpt-x in old.sqlite, gpt-y in new.sqlite.",
        "The condition python has another prompt.",
    ]
    assert "Run by other versions of toolablate: 0.1.0 and 0.2.0." in found["differences"]
    rows = {row["condition"]: row for row in found["comparisons"]}
    assert [(row["questions"], row["baseline_score"], row["score"]) for row in rows.values()] == [
        (5, 80, 80),
        (5, 100, 40),
    ]
    assert (rows["python"]["right_to_wrong"], rows["python"]["comparisons"]) == (3, 2)
    flips = json.loads(said("compare", here, "--against", there, "--flips", "--json"))["flips"]
    assert [(flip["model"], flip["question"], flip["direction"]) for flip in flips] == [
        ("python", name, "right_to_wrong") for name in ("q2", "q3", "q4")
    ]
    assert "The models differ" in said("compare", here, "--against", there)
    for arguments in (
        (here,),
        (there, "--models", "gpt-x", "gpt-z"),
        (there, "--run", "abc"),
        (there, "--baseline", "none"),
    ):
        refused = called("compare", here, "--against", *arguments)
        assert isinstance(refused.exception, InputError), arguments


def test_a_condition_of_the_other_name_or_other_questions_leave_nothing_to_compare() -> None:
    one, other = _side("a", random.Random(1)), _side("b", random.Random(2))
    with pytest.raises(InputError, match="no condition in common"):
        beside(one, replace(other, conditions={"else": NONE}))
    with pytest.raises(InputError, match="no question in common"):
        beside(one, replace(other, questions={trial: f"{name}'" for trial, name in other.questions.items()}))


QUESTIONS, CLUSTER, REPEATS = 45, 3, 2
CONDITIONS = ("none", "python", "search")
RECORDS = {f"q{number}": question(number) for number in range(QUESTIONS)}


def _side(name: str, draw: random.Random, able: dict[int, float] | None = None) -> StoreSide:
    """A store whose questions come three from a text, which are hard or easy together."""
    able = able or {number: draw.random() for number in range(QUESTIONS // CLUSTER)}
    summaries = [
        TrialSummary(
            question=f"q{number}",
            model="m",
            condition=condition,
            repeat=repeat,
            value=float(draw.random() < able[number // CLUSTER]),
            verdict="correct",
            cluster=f"text {number // CLUSTER}",
            trial=f"{name}-{condition}-{number}-{repeat}",
        )
        for condition in CONDITIONS
        for number in range(QUESTIONS)
        for repeat in range(REPEATS)
    ]
    return StoreSide(
        path=Path(f"{name}.sqlite"),
        summaries=tuple(summaries),
        run=RUN,
        scored_by=(("choice", 1),),
        questions={seen.trial: seen.question for seen in summaries},
        traces={seen.trial: seen.trial for seen in summaries},
        records=RECORDS,
        models={"m": MODEL},
        conditions=dict.fromkeys(CONDITIONS, NONE),
        environments=(),
    )


@pytest.mark.deep
def test_two_stores_of_one_kind_rarely_seem_to_differ() -> None:
    """Clusters that go up or down together in one store, as a new version of a tool does to questions of one text, and
    no difference on average: of 300 such pairs 5 % may seem to differ in some condition, give or take."""
    draw, seem, alone = random.Random(7), 0, 0
    for number in range(300):
        able = [{text: draw.random() for text in range(QUESTIONS // CLUSTER)} for _ in range(2)]
        rows = beside(_side("a", draw, able[0]), _side("b", draw, able[1])).compare(seed=number, harm=False)
        assert len(rows) == len(CONDITIONS)
        seem += any(row.p_holm is not None and row.p_holm < 0.05 for row in rows)
        alone += sum(row.p_value is not None and row.p_value < 0.05 for row in rows)
    assert seem <= 0.05 * 300 + 3 * (300 * 0.05 * 0.95) ** 0.5
    # Conditions of one store share their texts, so that they err together: wider than by chance alone.
    assert 0.02 <= alone / 900 <= 0.09
