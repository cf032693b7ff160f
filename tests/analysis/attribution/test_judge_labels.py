"""What labels of judges are worth, and shares that are corrected for it: what is known by construction has to come out."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolablate.analysis.attribution.belief import Share
from toolablate.analysis.attribution.judge_labels import (
    DISTRACTIONS,
    ERROR_TYPES,
    FEWEST_CASES,
    Confusion,
    LabelShares,
    confusion,
    confusion_of,
    distraction_of,
    error_types,
    judge_matrices,
    judged_shares,
    rescaled,
)
from toolablate.traces.records import Diagnosis, DistractionLabel, ErrorType
from toolablate.traces.store import TrialSummary

SURE = np.array([[0.8, 0.1, 0.05, 0.05], [0.1, 0.75, 0.1, 0.05], [0.05, 0.1, 0.8, 0.05], [0.1, 0.05, 0.05, 0.8]])
BLIND = np.full((4, 4), 0.25) + 0.05 * np.eye(4) - 0.0125


def planted(rows: np.ndarray, cases: int, rng: np.random.Generator) -> Confusion:
    """A judge that errs by these probabilities, tried on so many trials of each kind."""
    drawn = [rng.choice(4, size=cases, p=row / row.sum()) for row in rows]
    return confusion((DISTRACTIONS[true], DISTRACTIONS[said]) for true, row in enumerate(drawn) for said in row)


def labels(rows: np.ndarray, true: Sequence[float], questions: int, rng: np.random.Generator) -> list[list[str]]:
    """What it says of two trials of each question, which are of one kind."""
    kinds = rng.choice(4, size=questions, p=true)
    return [[DISTRACTIONS[said] for said in rng.choice(4, size=2, p=rows[kind])] for kind in kinds]


def diagnosis(trial: str, label: str | None, *, judge: str = "j@1", wording: int = 1) -> Diagnosis:
    kind = next((each for each in DISTRACTIONS[:3] if each == label), None)
    error = None if label is None else "knowledge"
    return Diagnosis(trial=trial, judge=judge, wording=wording, error_type=error, distraction=kind)  # type: ignore[arg-type]


def test_a_matrix_counts_labels_beside_true_ones() -> None:
    pairs = [("a", "a"), ("a", "a"), ("a", "b"), ("b", "b"), ("b", None)]
    found = confusion(pairs, labels=("a", "b"))
    assert found.counts == {"a": {"a": 2, "b": 1}, "b": {"a": 0, "b": 1}}
    assert found.unlabelled == {"a": 0, "b": 1}
    assert (found.right.count, found.right.of) == (3, 4)
    given_right = found.given("a", "a")
    assert given_right.share is not None
    # Wilson's interval of 2 of 3, by hand.
    assert (given_right.share.low, given_right.share.high) == pytest.approx((0.2077, 0.9385), abs=1e-4)
    assert confusion([], labels=("a",)).given("a", "a").share is None


@pytest.mark.parametrize("pair", [("c", "a"), ("a", "c"), (None, "a")])
def test_a_label_that_is_none_of_the_matrix_is_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="no labels of this matrix"):
        confusion([pair], labels=("a", "b"))


def test_each_judge_has_a_matrix_by_wording() -> None:
    truth: dict[str, DistractionLabel] = {"t1": "existence_as_norm", "t2": "none"}
    found = judge_matrices(
        [
            diagnosis("t1", "over_engineering"),
            diagnosis("t1", "existence_as_norm", wording=2),
            diagnosis("t2", "none", wording=2),
            diagnosis("t2", None, judge="k@2"),
            diagnosis("t3", "none"),
        ],
        truth,
    )
    assert [(each.judge, each.wording) for each in found] == [("j@1", 1), ("j@1", 2), ("k@2", 1)]
    rights = [confusion_of(each).right for each in found]
    assert [(right.count, right.of) for right in rights] == [(0, 1), (2, 2), (0, 0)]
    assert found[2].unlabelled["none"] == 1
    assert distraction_of(diagnosis("t1", None)) is None


def test_shares_that_are_corrected_are_those_that_are_true() -> None:
    """Without chance: the matrix and the labels are as their probabilities say."""
    counts = {true: dict(zip("ab", row, strict=True)) for true, row in zip("ab", [(90, 10), (30, 70)], strict=True)}
    matrix = Confusion(("a", "b"), counts, {"a": 0, "b": 0})
    # Of 40 % a and 60 % b it says a of .4 * .9 + .6 * .3 = 54 %.
    found = judged_shares([["a"]] * 54 + [["b"]] * 46, matrix)
    assert found is not None
    assert (found.uncorrected, found.trials) == ("", 100)
    assert [found.by_label[label].share for label in "ab"] == pytest.approx([0.4, 0.6])


def _covered(found: LabelShares | None, true: Sequence[float]) -> list[bool]:
    assert found is not None
    assert found.uncorrected == ""
    shares = [found.by_label[label] for label in DISTRACTIONS]
    assert sum(share.share for share in shares) == pytest.approx(1.0)
    return [
        share.ci95 is not None and share.ci95[0] <= p <= share.ci95[1] for share, p in zip(shares, true, strict=True)
    ]


@pytest.mark.deep
@pytest.mark.parametrize("true", [(0.4, 0.2, 0.1, 0.3), (0.1, 0.1, 0.1, 0.7)])
def test_intervals_of_corrected_shares_cover_the_truth(true: tuple[float, ...]) -> None:
    rng, runs = np.random.default_rng(7), 150
    covered = np.mean(
        [
            _covered(judged_shares(labels(SURE, true, 100, rng), planted(SURE, 60, rng), seed=run), true)
            for run in range(runs)
        ],
        axis=0,
    )
    # Of 150 runs a true 95 % is below 90 % in less than 1 of 100.
    assert (covered >= 0.89).all(), covered
    assert covered.mean() >= 0.92


@pytest.mark.parametrize("questions", [10, 30])
def test_intervals_of_rare_labels_do_not_end_at_what_was_seen(questions: int) -> None:
    """Few questions, most without a trial of three of the four kinds, and a judge that never errs."""
    rng, true, sure = np.random.default_rng(11), (0.02, 0.02, 0.02, 0.94), np.eye(4)
    covered = [
        _covered(judged_shares(labels(sure, true, questions, rng), planted(sure, 20, rng), seed=run), true)
        for run in range(60)
    ]
    assert (np.mean(covered, axis=0) >= 0.89).all(), np.mean(covered, axis=0)


def test_what_the_judge_says_is_biased_where_the_corrected_shares_are_not() -> None:
    rng, true = np.random.default_rng(3), (0.1, 0.1, 0.1, 0.7)
    said = labels(SURE, true, 4_000, rng)
    corrected, plain = judged_shares(said, planted(SURE, 2_000, rng)), judged_shares(said, None)
    assert corrected is not None
    assert plain is not None
    assert corrected.by_label["none"].share == pytest.approx(0.7, abs=0.03)
    assert plain.by_label["none"].share < 0.62


def test_a_judge_that_confuses_too_much_corrects_nothing() -> None:
    rng = np.random.default_rng(5)
    said = labels(SURE, (0.25, 0.25, 0.25, 0.25), 50, rng)
    found, plain = judged_shares(said, planted(BLIND, 400, rng)), judged_shares(said, None)
    assert found is not None
    assert plain is not None
    assert "the judge confuses too much" in found.uncorrected
    assert found.by_label == plain.by_label
    assert plain.uncorrected == "no planted trials tell how the judge errs"
    few = judged_shares(said, planted(SURE, FEWEST_CASES - 1, rng))
    assert few is not None
    assert few.uncorrected == f"fewer than {FEWEST_CASES} planted trials of {', '.join(DISTRACTIONS)}"


def test_too_few_questions_have_no_interval_and_none_no_shares() -> None:
    rng = np.random.default_rng(5)
    found = judged_shares([["none"]] * 5, planted(SURE, 50, rng))
    assert found is not None
    assert {share.ci95 for share in found.by_label.values()} == {None}
    assert judged_shares([[], []], None) is None
    with pytest.raises(ValueError, match=r"none of the labels .*: boredom"):
        judged_shares([["boredom"]], planted(SURE, 50, rng))


@given(
    st.dictionaries(st.sampled_from(DISTRACTIONS), st.floats(0, 1), min_size=1),
    st.floats(-1, 1, allow_nan=False),
)
def test_rescaled_shares_sum_to_the_measured_term(shares: dict[str, float], term: float) -> None:
    parts = rescaled(shares, term)
    if sum(shares.values()) > 0:
        assert sum(parts.values()) == pytest.approx(term, abs=1e-9)
        assert set(parts) == set(shares)
    else:
        assert parts == {}


# Types of errors are counted by domain and by arm, of failures alone.


def seen(trial: str, *, value: float | None = 0.0, domain: str = "maths", condition: str = "python") -> TrialSummary:
    return TrialSummary(
        question=f"q{trial[-1]}", model="m", condition=condition, trial=trial, value=value, domain=domain
    )


def typed_diagnosis(trial: str, error: ErrorType | None, *, judge: str = "j@1", wording: int = 1) -> Diagnosis:
    return Diagnosis(trial=trial, judge=judge, wording=wording, error_type=error, distraction=None)


OBSERVATIONS = [
    seen("a1"),
    seen("b1", condition="search"),
    seen("a2"),
    seen("a3", domain="law"),
    seen("a4", value=1.0),
    seen("a5", value=None),
]
DIAGNOSES = [
    typed_diagnosis("a1", "knowledge"),
    typed_diagnosis("b1", "knowledge"),
    typed_diagnosis("a2", None),
    typed_diagnosis("a3", "calculation"),
    typed_diagnosis("a4", "hallucination"),
    typed_diagnosis("a5", "hallucination"),
    typed_diagnosis("unknown", "hallucination"),
]


def test_failures_are_counted_by_domain_and_by_arm() -> None:
    (table,) = error_types(OBSERVATIONS, DIAGNOSES)
    assert (table.overall.labelled, table.overall.unlabelled, table.overall.questions) == (3, 1, 2)
    assert {name: rate.count for name, rate in table.overall.types.items() if rate.count} == {
        "knowledge": 2,
        "calculation": 1,
    }
    assert tuple(table.overall.types) == ERROR_TYPES
    assert [(row.domain, row.labelled, row.unlabelled) for row in table.by_domain] == [("law", 1, 0), ("maths", 2, 1)]
    assert [(row.model, row.condition, row.labelled) for row in table.by_arm] == [
        ("m", "python", 2),
        ("m", "search", 1),
    ]
    for row in (table.overall, *table.by_domain, *table.by_arm):
        assert sum(rate.count for rate in row.types.values()) == row.labelled


def test_a_share_has_an_interval_over_questions() -> None:
    (alone,) = error_types(OBSERVATIONS, DIAGNOSES[2:4])
    assert alone.overall.types["calculation"].share == Share(1, pytest.approx(0.2065, abs=1e-4), 1)
    (table,) = error_types(OBSERVATIONS, DIAGNOSES)
    share = table.overall.types["knowledge"].share
    assert share is not None
    assert share.mean == pytest.approx(2 / 3)
    # Three trials of two questions: wider than of three independent trials (.21 to .94).
    assert (share.low, share.high) == pytest.approx((0.1412, 0.9605), abs=1e-4)


def test_each_judge_and_wording_has_a_table_of_its_own() -> None:
    tables = error_types(
        OBSERVATIONS,
        [*DIAGNOSES, typed_diagnosis("a1", "other", wording=2), typed_diagnosis("a1", "reasoning", judge="k@2")],
    )
    assert [(table.judge, table.wording, table.overall.labelled) for table in tables] == [
        ("j@1", 1, 3),
        ("j@1", 2, 1),
        ("k@2", 1, 1),
    ]
    assert error_types(OBSERVATIONS, []) == []
