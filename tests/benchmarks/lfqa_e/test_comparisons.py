"""Both published forms are read strictly, and what is known of the published file holds."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.conftest import DATA
from tests.benchmarks.lfqa_e.comparing import FEEDBACK, OLDER, UNIFIED, XU, compared, without, written

from toolablate.benchmarks.lfqa_e.comparisons import Triples, load_comparisons, questions_of_comparisons, triples
from toolablate.traces.errors import InputError

PUBLISHED = DATA / "lfqa_e_zh.json"
published = pytest.mark.skipif(not PUBLISHED.exists(), reason=f"LFQA-E is not in {DATA} (set TOOLABLATE_DATA)")


def test_both_forms_give_the_same_comparison(tmp_path: Path) -> None:
    (unified,) = load_comparisons(written(tmp_path / "a.json", UNIFIED))
    (older,) = load_comparisons(written(tmp_path / "b.json", OLDER))
    assert (unified.id, older.id) == ("7f1c", "1h3l500/student_answer_a_vs_model_answer_b")
    assert unified.question == older.question
    assert (unified.a, unified.b, unified.label, unified.setting) == (older.a, older.b, older.label, older.setting)
    assert (unified.label, unified.setting, unified.language) == ("a", "human_vs_model", "en")
    assert unified.cluster == unified.question.id


@pytest.mark.parametrize(
    ("label", "read"), [("model_answer_b", "b"), ("same", "same"), ("both are equal", "same"), ("Same quality", "same")]
)
def test_labels_of_the_older_form(tmp_path: Path, label: str, read: str) -> None:
    (one,) = load_comparisons(written(tmp_path / "a.json", {**OLDER, "student_answer_a_vs_model_answer_b": label}))
    assert one.label == read


def test_the_form_of_xu_et_al_has_no_reference(tmp_path: Path) -> None:
    rows = [XU, {**XU, "overall_preference": 0}, {**XU, "answer_a_type": "webgpt", "overall_preference": 1}]
    one, again, other = load_comparisons(written(tmp_path / "a.json", *rows))
    assert [each.label for each in (one, again, other)] == ["a", "same", "b"]
    assert [each.setting for each in (one, other)] == ["human_vs_model", "model_vs_model"]
    assert again.id == f"{one.id}#2"
    assert one.cluster == other.cluster == load_comparisons(written(tmp_path / "b.json", UNIFIED))[0].cluster
    assert one.reference == ""


def test_pairs_of_feedback_bench_bring_what_they_are_compared_by(tmp_path: Path) -> None:
    (one,) = load_comparisons(written(tmp_path / "a.json", FEEDBACK))
    assert (one.a, one.b, one.label, one.setting) == (
        FEEDBACK["orig_response_A"],
        FEEDBACK["orig_response_B"],
        "b",
        "model_vs_model",
    )
    assert one.question.prompt == "What counts: Does it name the cause?\n\nWhy is the sky blue?"
    assert one.reference == FEEDBACK["orig_reference_answer"]


def test_comparisons_of_the_older_form_that_share_a_name_keep_apart(tmp_path: Path) -> None:
    one, other = load_comparisons(written(tmp_path / "a.json", OLDER, {**OLDER, "model_answer_b": "No idea."}))
    assert other.id == f"{one.id}#2"
    assert one.cluster == other.cluster


def test_material_stands_before_the_question(tmp_path: Path) -> None:
    rows = [{**UNIFIED, "context": "材料：天空", "question": "根据以上材料，天空为什么是蓝色的？", "type": "物理"}]
    (one,) = load_comparisons(written(tmp_path / "a.json", *rows))
    assert one.question.prompt == "材料：天空\n\n根据以上材料，天空为什么是蓝色的？"
    assert (one.asked, one.context, one.language, one.topic) == (rows[0]["question"], "材料：天空", "zh", "物理")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({**UNIFIED, "label": "a"}, "'label' must be 'response_a' or 'response_b' or 'same'; found \"a\""),
        ({**UNIFIED, "compare_type": "x"}, "'compare_type' must be 'human_vs_human' or 'human_vs_model'"),
        ({**UNIFIED, "reference": ""}, "'reference' must be a text in quotes that is not empty; found \"\""),
        (without(UNIFIED, "response_b"), "the key 'response_b' is missing"),
        ({**UNIFIED, "winner": "a"}, 'unknown key "winner"'),
        ({"prompt": "x", "chosen": "y"}, 'a row of another form: its keys are ["prompt", "chosen"]'),
        ({**OLDER, "student_answer_a_vs_model_answer_b": "neither"}, "must be 'student_answer_a', 'model_answer_b' or"),
        ({**OLDER, "student_answer_a_vs_model_answer_b": None}, "or 'same'; found null"),
        (without(OLDER, "model_answer_b"), "the key 'model_answer_b' is missing"),
        ({**OLDER, "model_answer_b": 3}, "'model_answer_b' must be a text in quotes; found 3"),
        ({**OLDER, "model_answer_a": "x"}, 'the key "model_answer_a" is not compared'),
        ({**OLDER, "student_answer_a_vs_model_answer_a": "same"}, "two verdicts"),
        (without(OLDER, "Concise_Reference"), "the key 'Concise_Reference' is missing"),
        (
            {**XU, "overall_preference": 2},
            "'overall_preference' must be -1 (a is better), 0 or 1 (b is better); found 2",
        ),
        ({**XU, "overall_preference": True}, "found true or false"),
        ({**FEEDBACK, "orig_preference": "C"}, "'orig_preference' must be 'A' or 'B'; found \"C\""),
        (without(XU, "answer_b_type"), "the key 'answer_b_type' is missing"),
        ({**UNIFIED}, 'the id "7f1c" is already taken by row 1'),
    ],
)
def test_what_is_wrong_with_a_row_is_said(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    path = written(tmp_path / "rows.json", UNIFIED, row)
    with pytest.raises(InputError) as caught:
        load_comparisons(path)
    assert f"{path}, row 2: " in str(caught.value)
    assert said in str(caught.value)


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no comparison"):
        load_comparisons(written(tmp_path / "rows.json"))


def test_a_question_comes_once_with_its_first_reference(tmp_path: Path) -> None:
    rows = [UNIFIED, {**UNIFIED, "id": "2", "reference": "Other words."}, {**UNIFIED, "id": "3", "context": "Given."}]
    questions = questions_of_comparisons(load_comparisons(written(tmp_path / "a.json", *rows)))
    assert [each.target.answer for each in questions if each.target.kind == "reference"] == [UNIFIED["reference"]] * 2
    assert [each.prompt for each in questions] == [UNIFIED["question"], f"Given.\n\n{UNIFIED['question']}"]


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        (("a", "a", "a"), Triples(1, 0, 0)),
        (("a", "a", "b"), Triples(0, 1, 0)),
        (("same", "same", "same"), Triples(1, 0, 0)),
        (("same", "same", "a"), Triples(0, 0, 1)),
        (("a", "a", "same"), Triples(0, 0, 1)),
        (("a", "same", "a"), Triples(1, 0, 0)),
    ],
)
def test_triples(verdicts: tuple[Any, Any, Any], found: Triples) -> None:
    """x with y, y with z, x with z."""
    pairs = zip(("xy", "yz", "xz"), verdicts, strict=True)
    rows = [compared(n, label, cluster="q", a=pair[0], b=pair[1]) for n, (pair, label) in enumerate(pairs)]
    assert triples(rows) == found


@published
def test_the_published_file() -> None:
    rows = load_comparisons(PUBLISHED)
    questions = questions_of_comparisons(rows)
    assert (len(rows), len(questions)) == (1193, 592)
    assert Counter(Counter(each.cluster for each in rows).values()) == {1: 289, 3: 294, 2: 8, 6: 1}
    assert Counter(each.label for each in rows) == {"a": 599, "b": 498, "same": 96}
    assert Counter(each.setting for each in rows) == {"human_vs_model": 594, "model_vs_model": 599}
    assert sum(not each.context for each in rows) == 296
    assert {each.language for each in rows} == {"zh"}
    assert len({(each.cluster, frozenset((each.a, each.b))) for each in rows}) == 1193
    assert all(each.a != each.b for each in rows)
    assert triples(rows) == Triples(consistent=289, cycles=5, no_order=2)


@pytest.mark.parametrize(
    ("name", "count", "settings"),
    [
        ("lfqa_e_three_rows.json", 3, {"model_vs_model": 2, "human_vs_model": 1}),
        ("lfqa_e_en_sample.json", 12, {"human_vs_human": 2, "human_vs_model": 8, "model_vs_model": 2}),
        ("lfqa_e_zh_sample.json", 10, {"human_vs_human": 2, "human_vs_model": 4, "model_vs_model": 4}),
    ],
)
@published
def test_published_samples(name: str, count: int, settings: dict[str, int]) -> None:
    rows = load_comparisons(DATA / name)
    assert (len(rows), Counter(each.setting for each in rows)) == (count, settings)
    assert len({each.id for each in rows}) == count
