"""What wrong answers are called, each beside one that looks like it and is something else."""

import json
import os
from pathlib import Path
from typing import Any, get_args

import pytest

from toolablate.analysis.answer_relation import OWN, RELATIONS, SAID, Relation, relation_of
from toolablate.benchmarks.scoring.scorers import scorer_for
from toolablate.traces.records import ChoiceTarget, NumberTarget, Question, ReferenceTarget, Score, SpansTarget
from toolablate.traces.records.questions import Scale

ROOT = Path(__file__).parents[2]
MATERIAL = "Sales were $5,231 thousand in 2018 and $4,210 thousand in 2019.\n\nWas it 2018 or 2019, north or south?"


def relation(
    given: str | tuple[str, ...], target: object, *, prompt: str = MATERIAL, reply: str = "", **of: object
) -> str:
    extracted = (given,) if isinstance(given, str) else given
    question = Question(
        id="q", prompt=prompt, choices=("x",) * 4 if isinstance(target, ChoiceTarget) else (), target=target
    )
    verdict = "wrong" if extracted else "unparsed"
    score = Score(trial="t", scorer="s", value=0, verdict=verdict, extracted=extracted, **of)
    return relation_of(question, score, reply)


def spans(*texts: str, scale: Scale = "") -> SpansTarget:
    return SpansTarget(spans=texts, scale=scale)


@pytest.mark.parametrize(
    ("given", "wanted", "scale", "name"),
    [
        ("$1,496.5", "1,496.5", "million", "scale"),
        ("2,493 thousand", "2,493", "million", "scale"),
        ("0.16", "15.99", "percent", "scale"),
        ("87.5%", "0.87", "", "scale"),
        ("152", "15.2", "", "scale"),
        ("50", "5", "", "other"),
        ("500", "5", "", "scale"),
        ("-12.4", "12.4", "", "sign"),
        ("12.4", "$(12.4)", "", "sign"),
        ("12.4 million", "-12.4", "million", "sign"),
        ("190.859%", "191", "percent", "rounding"),
        ("-19.18%", "-19.17", "percent", "rounding"),
        ("15.5 billion", "15.57", "billion", "rounding"),
        ("8", "7", "", "off_by_one"),
        ("4121", "4122", "", "rounding"),
        ("120,759 thousand", "120259", "thousand", "close"),
        ("5,300 thousand", "5100", "thousand", "close"),
        ("5,231 thousand", "5100", "thousand", "in_material"),
        ("2.5 year", "2.5 years", "", "unit"),
        ("77 million", "RMB77 million", "", "unit"),
        ("3.45 cents", "3.45 cents per ordinary share", "", "unit"),
        ("6,125", "812", "", "other"),
        ("2018", "2019", "", "named"),
        ("the north", "an island", "", "named"),
        ("4,210", "812", "", "in_material"),
        ("growth of revenue", "revenue growth", "", "wording"),
        ("revenue", "revenue growth", "", "part"),
        ("revenue growth in Europe", "revenue growth", "", "more"),
        ("profit", "revenue growth", "", "other"),
        ("2880 thousand", "$2.9 million", "", "rounding"),
        ("2880000 thousand", "$28.8 million", "", "scale"),
        ("-$9,982 million", "$(9,982)", "million", "wording"),
        ("87,128 tonnes CO2e", "87,128", "", "unit"),
        ("4,210 cents per share", "812", "", "in_material"),
        ("4.21 million", "812", "", "in_material"),
        ("$5,231 and $4,210", "812", "", "in_material"),
        ('{"answer": 0.0}', "812", "", "unreadable"),
        ("line 1\nSyntaxError: no", "812", "", "unreadable"),
        ("1562.474 million", "$1,562,474 thousand", "", "wording"),
        ("-190 bps", "1.9", "percent", "sign"),
        ("-4036.5%", "4049.06", "percent", "sign"),
        ("$19,832", "19653.67", "thousand", "close"),
        ("91.0 million", "92", "million", "off_by_one"),
        ("2", "18", "", "other"),
        ("1", "1248", "", "other"),
        ("first part, then the second", "(i) first part, (ii) then second", "", "wording"),
    ],
)
def test_one_answer_against_one(given: str, wanted: str, scale: Scale, name: Relation) -> None:
    assert relation(given, spans(wanted, scale=scale)) == name


@pytest.mark.parametrize(
    ("given", "wanted", "name"),
    [
        (("12548 thousand", "12643 thousand"), ("$12,548", "$12,643"), "scale"),
        (("12,643", "$12,548 thousand"), ("12548", "12643"), "scale"),
        (("-3", "4.04"), ("3", "4.0"), "sign"),
        (("3", "900"), ("3", "4.0"), "other"),
        (("6", "209", "8", "681"), ("6,209", "8,681"), "wording"),
        (("receivables", "inventories", "plant"), ("receivables, inventories, and plant",), "wording"),
        (("receivables", "plant"), ("receivables", "inventories", "plant"), "part"),
    ],
)
def test_several_against_several(given: tuple[str, ...], wanted: tuple[str, ...], name: Relation) -> None:
    assert relation(given, spans(*wanted)) == name


def test_letters_are_other_options_or_too_few_or_too_many() -> None:
    both = ChoiceTarget(letters=("A", "C"))
    found = [relation(given, both) for given in (("A",), ("A", "B", "C"), ("B",), ("A", "B"))]
    assert found == ["part", "more", "option", "option"]


def test_no_readable_answer_is_nothing_a_refusal_or_another_form() -> None:
    number = NumberTarget(value=3)
    said = [
        "",
        "  ",
        "I'm sorry, I cannot answer that.",
        "抱歉，无法确定。",
        "It follows that x is three or four, perhaps.",
    ]
    assert [relation((), number, reply=reply) for reply in said] == [
        *("empty", "empty", "refusal", "refusal", "unreadable"),
    ]
    assert relation("cannot be determined", number) == "refusal"


def test_what_a_judge_finds_wrong_is_readable() -> None:
    question = Question(id="q", prompt="Why?", target=ReferenceTarget(answer="Rust."))
    judged = Score(trial="t", scorer="judge", value=0, verdict="wrong")
    assert relation_of(question, judged, "Because of frost.") == "other"
    assert relation_of(question, judged, "I cannot answer that.") == "refusal"


def test_a_scorers_own_name_goes_before_the_rules() -> None:
    assert relation("8", NumberTarget(value=7), metadata={OWN: "next row"}) == "next row"
    assert relation("8", NumberTarget(value=7), metadata={OWN: 3}) == "off_by_one"


def test_what_has_no_one_right_text_is_looked_up_in_the_question() -> None:
    assert relation("north", ReferenceTarget(answer="An island.")) == "named"
    assert relation("0", NumberTarget(value=18), prompt="At $4.00 a pound, what do 6 pounds cost?") == "other"


@pytest.mark.parametrize("text", ["1" * 400, "1e999", "(" * 2000 + "5", "9" * 5000 + "%", "1,2,3,4,5", "\x00", "-"])
def test_hostile_answers_have_some_relation(text: str) -> None:
    assert relation(text, spans("5", scale="million")) in RELATIONS
    assert relation("5", spans(text), prompt=text) in RELATIONS


def test_every_relation_is_told_in_words() -> None:
    assert set(get_args(Relation)) == SAID.keys()


def test_hand_read_flips_of_tatqa_are_named_as_people_did() -> None:
    """Labels were given by question, right answer and answer alone. The rules were mended on the first 30, then scored
    once on the 30 held out (26 right), mended again, and scored once on 30 fresh ones (28 right). More were drawn of
    all three conditions, 60 twice: 54 were right, after mending 56 of the others."""
    path = Path(os.environ.get("TOOLABLATE_DATA", ROOT.parent / "shared/data")) / "tatqa_codex_conditions.jsonl"
    if not path.exists():
        pytest.skip(f"the recorded data are not here: {path}")
    read = _lines(ROOT / "tests/analysis/tatqa_hand_read.jsonl")
    rows = {row["question_id"]: row for row in _lines(path)}
    named: dict[str, list[bool]] = {}
    for each in read:
        row = rows[each["id"]]
        wanted = row["answer"] if isinstance(row["answer"], list) else [row["answer"]]
        target = SpansTarget(spans=tuple(map(str, wanted)), scale=row["scale"])
        prompt = f"{row['text']}\n\n{row['table']}\n\n{row['question']}"
        question = Question(id="q", prompt=prompt, target=target, metadata={"answer_type": row["answer_type"]})
        reply = each.get("reply") or row[each["condition"]]["generated"][0]
        score = scorer_for("tatqa").score(question, "t", reply)
        said = "" if score.extracted else reply
        named.setdefault(each["sample"], []).append(relation_of(question, score, said) == each["label"])
    assert {sample: sum(right) for sample, right in named.items()} == {
        **{"mended": 30, "held out": 30, "fresh": 28},
        **{"fresh 2": 57, "fresh 3": 58},
    }


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
