"""Questions that say the same, without a model."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from toolablate.experiments.construction.duplicates import MOST_NEAR, Deduplicate, Distinct, _grams, near_pairs
from toolablate.experiments.construction.pipeline import DuplicatesSection


def test_near_pairs_are_those_of_the_exact_similarity() -> None:
    """Against all pairs compared by their sets: MinHash may miss few near the least similarity, and adds none."""
    rng = random.Random(5)
    words = [f"{rng.choice('bcdfgklmnp')}{rng.choice('aeiou')}{rng.choice('rstvw')}{n}" for n in range(60)]
    texts = {}
    for n in range(60):
        base = rng.sample(words, 12)
        texts[f"a{n}"] = " ".join(base)
        for _ in range(rng.randrange(6)):
            base[rng.randrange(12)] = rng.choice(words)
        texts[f"b{n}"] = " ".join(base)
    found = {(later, earlier): value for later, earlier, value in near_pairs(texts, 0.5)}
    grams = {name: _grams(text) for name, text in texts.items()}
    names = list(texts)
    exact = {
        (later, earlier): value
        for place, later in enumerate(names)
        for earlier in names[:place]
        if (value := len(grams[later] & grams[earlier]) / len(grams[later] | grams[earlier])) >= 0.5
    }
    assert found.items() <= exact.items()
    assert len(exact) > 20
    assert len(found) >= 0.97 * len(exact)
    assert {pair for pair, value in exact.items() if value >= 0.7} <= found.keys()


def test_of_many_questions_alike_each_is_compared_with_few() -> None:
    """1,000 of them were 499,500 pairs, and as many requests where a model is to tell them apart."""
    draws = random.Random(0)
    words = ["".join(draws.choices("abcdefghij", k=6)) for _ in range(60)]
    said = " ".join(words)
    alike = {f"item {number}": {"question": f"{said} {'x' * number}", "answer": "water"} for number in range(60)}
    found = Deduplicate(DuplicatesSection(), asks=1).context(alike)
    assert max(len(near) for near in found.values()) == MOST_NEAR
    doubtful = {
        f"item {number}": {
            "question": f"{' '.join(words[:45])} {' '.join(draws.sample(words[45:], 15))} {number}",
            "answer": "water",
        }
        for number in range(60)
    }
    found = Deduplicate(DuplicatesSection(same=0.99, near=0.4), asks=1).context(doubtful)
    assert max(len(near) for near in found.values()) == MOST_NEAR


ACID = "What is the pH of a solution of acetic acid of concentration {} mol/L at 25 °C, if its Ka is 1.8e-5?"

MIXED = "Is it {} to mix concentrated nitric acid with acetone in a closed vessel at room temperature?"

ALKENE = "Of cis- and trans-1,2-dichloroethene, which isomer has the {} boiling point at one atmosphere, and why?"


@pytest.mark.parametrize(
    ("one", "other", "asked"),
    [
        ((ACID.format("0.10"), "2.88"), (ACID.format("0.0010"), "3.91"), [True]),
        ((ACID.format("0.10"), "2.88"), (ACID.format("0.10").replace("What is", "Give"), " 2.88."), [True]),
        ((ACID.format("0.10"), "2.88"), (ACID.format("0.10").upper(), " 2.88."), [False]),
        ((MIXED.format("safe"), "No"), (MIXED.format("unsafe"), "No"), [True]),
        ((ACID.format("0.10"), "acidic"), (ACID.format("0.0010"), "acidic"), [True]),
        ((ALKENE.format("higher"), "cis"), (ALKENE.format("lower"), "trans"), [True]),
        (("What colour has it then?", "Colourless"), ("What colour has it then?", "Brown, MnO2"), [True]),
        (("How strong is it?", "0.10 M"), ("How strong is it?", "“0.1 M”"), [False]),
        (("What colour has it then?", "Colourless"), ("What colour  has IT then?", "colourless."), [False]),
        (("What colour has it then?", "Colourless"), ("Why do tyres wear out?", "Colourless"), []),
    ],
)
def test_what_repeats_another_without_a_doubt_has_its_words_and_its_answer(
    one: tuple[str, str], other: tuple[str, str], asked: list[bool]
) -> None:
    contents = {name: {"question": said, "answer": answer} for name, (said, answer) in {"1": one, "2": other}.items()}
    found = Deduplicate(DuplicatesSection(), asks=1).context(contents)
    assert [each["asked"] for each in found.get("2", ())] == asked


def test_questions_of_the_same_words_are_told_apart_by_their_options() -> None:
    asked: dict[str, dict[str, Any]] = {
        "first": {"right": "iron rusts", "options": ["iron rusts", "tin boils"]},
        "other options": {"right": "lead melts", "options": ["lead melts", "zinc burns"]},
        "other answer": {"right": "tin boils", "options": ["iron rusts", "tin boils"]},
        "written otherwise": {"right": "“iron rusts”", "options": ["lead melts", "“iron rusts”"]},
        "short": {"answer": "zinc burns"},
    }
    contents = {name: {"asked": {"question": "Which of these holds?", **each}} for name, each in asked.items()}
    repeated = ("other answer", "written otherwise", "short")
    assert compared(contents) == {name: [("first", 1.0, False)] for name in repeated}


def test_no_question_that_a_named_file_has_is_published_in_its_words(tmp_path: Path) -> None:
    """The originals differ: what the file has was converted, as this one is."""
    rows = [
        {
            "id": "old",
            "prompt": "Which of these rusts?",
            "choices": ["iron", "tin"],
            "target": {"kind": "choice", "letters": ["A"]},
        },
        {
            "id": "other",
            "prompt": "Which of these melts?",
            "choices": ["lead", "salt"],
            "target": {"kind": "choice", "letters": ["A"]},
        },
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    asked = {
        "again": {"question": "Which of these  rusts?", "right": "iron", "options": ["iron", "tin", "lead"]},
        "new": {"question": "Which of these melts?", "right": "butter", "options": ["butter", "sand"]},
    }
    contents = {name: {"asked": each} for name, each in asked.items()}
    found = Distinct(DuplicatesSection(against=(str(file),)), asks=1).context(contents)
    assert {item: [each["name"] for each in near] for item, near in found.items()} == {"again": [f"{file}: old"]}


def compared(contents: dict[str, Any]) -> dict[str, list[tuple[str, float, bool]]]:
    found = Distinct(DuplicatesSection(), asks=1).context(contents)
    return {item: [(each["name"], each["similarity"], each["asked"]) for each in near] for item, near in found.items()}


RPM = "A pump that runs at {} rpm with a worn impeller shows cavitation at its flange; does throttling the outlet help?"
METAL = "Which of these metals is {}attacked by concentrated nitric acid at room temperature without a film of oxide?"
BROMINE = "Is the reaction of {} with bromine in the dark at room temperature an addition, or does it need radicals?"


@pytest.mark.parametrize(
    ("one", "other", "answer", "asked"),
    [
        (RPM.format("1450"), RPM.format("2900"), "No", []),
        (METAL.format(""), METAL.format("not "), "iron", [True]),
        (BROMINE.format("cyclohexene"), BROMINE.format("styrene"), "An addition", [True]),
        (METAL.format(""), METAL.format("").upper(), "iron", [False]),
    ],
)
def test_of_what_people_accepted_likeness_alone_drops_nothing(
    one: str, other: str, answer: str, asked: list[bool]
) -> None:
    contents = {
        name: {"asked": {"question": said, "answer": answer, "points": ["x"]}}
        for name, said in (("1", one), ("2", other))
    }
    assert [each for *_, each in compared(contents).get("2", ())] == asked


def test_questions_that_are_near_repeat_one_with_the_same_answer_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of 5-grams of 2,000 with one stem and other answers were compared 2 million times."""
    said = "Which additive keeps the lithium of the cell stable above 4 volts in a van of the make {}?"
    contents = {
        str(n): {
            "asked": {"question": said.format(f"{chr(97 + n // 10)}{chr(97 + n % 10)}"), "answer": f"salt {n % 50}"}
        }
        for n in range(100)
    }
    pairs = []

    def seen(*given: Any, **named: Any) -> Any:
        for pair in near_pairs(*given, **named):
            pairs.append(pair)
            yield pair

    monkeypatch.setattr("toolablate.experiments.construction.duplicates.near_pairs", seen)
    found = {later: [(earlier, asked) for earlier, _, asked in near] for later, near in compared(contents).items()}
    assert found == {str(n): [(str(n - 50), True)] for n in range(50, 100)}
    assert len(pairs) == 50
