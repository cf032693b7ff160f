"""What people hold, beside what is attributed, in sum and as text."""

import json
import re
from collections.abc import Sequence

import pytest
from tests.reports.attribution.samples import page
from tests.traces.samples import WHEN

from toolablate.analysis.labels.held import AttributedCause, disputed, held
from toolablate.analysis.labels.report import LabelReport, label_report, labels_csv, labels_json
from toolablate.reports.terminal.agreement import labels_view
from toolablate.traces.records import Diagnosis, Label, Mechanism

HOSTILE = "\x1b]0;owned\x07[red]m\u202e"
MANY = 60


def _label(trial: int, mechanism: Mechanism | None, person: str = "Ada", **more: object) -> Label:
    return Label.model_validate(
        {"trial": f"{trial:032x}", "person": person, "at": WHEN, "mechanism": mechanism, **more}
    )


def _report(labels: Sequence[Label], mechanism: Mechanism | None = "lock_in") -> LabelReport:
    method = None if mechanism is None else "replay"

    def of(trial: str) -> AttributedCause:
        return AttributedCause(f"q{int(trial, 16) // 2}", f"q{int(trial, 16) // 2}", mechanism, method)

    return label_report(held(labels, of))


def test_the_last_word_of_a_person_on_a_trial_counts() -> None:
    found = _report(
        [
            _label(1, "sampling_noise"),
            _label(1, "lock_in", "Grace"),
            _label(2, "sampling_noise"),
            _label(1, "lock_in"),
            _label(2, None),
        ]
    )
    assert [(each.label.person, each.label.mechanism) for each in found.held] == [
        ("Grace", "lock_in"),
        ("Ada", "lock_in"),
    ]
    assert [(row.person, row.trials, row.agreed) for row in found.with_attribution] == [
        ("", 1, 1),
        ("Ada", 1, 1),
        ("Grace", 1, 1),
    ]
    (between,) = found.between_people
    assert (between.person, between.other, between.agreed) == ("Ada", "Grace", 1)


def test_few_labels_say_nothing_and_many_of_one_kind_no_kappa() -> None:
    few = _report([_label(trial, "sampling_noise") for trial in range(18)])
    assert few.with_attribution[0].units == 9
    assert few.with_attribution[0].kappa is None
    assert "too few to say, 1 question short" in page(labels_view(few, "s.db"), 120)
    alike = _report([_label(trial, "lock_in") for trial in range(MANY)])
    assert alike.with_attribution[0].kappa is None
    assert "all of one kind" in page(labels_view(alike, "s.db"), 120)


def test_blind_labels_stand_apart_and_confusion_is_counted() -> None:
    labels = [
        _label(trial, "lock_in" if trial % 3 else "sampling_noise", blind=trial < MANY // 2) for trial in range(MANY)
    ]
    blind, seen = _report(labels).with_attribution
    assert (blind.blind, seen.blind) == (True, False)
    assert blind.trials + seen.trials == MANY
    assert blind.confusion == {"lock_in": {"lock_in": 20}, "sampling_noise": {"lock_in": 10}}
    assert blind.small, "15 questions"


def test_between_people_it_is_blind_where_both_were() -> None:
    labels = [
        _label(trial, "sampling_noise" if trial % 2 else "budget", person, blind=person == "Ada" or trial < 10)
        for trial in range(MANY)
        for person in ("Ada", "Grace")
    ]
    blind, seen = _report(labels).between_people
    assert (blind.trials, seen.trials) == (10, MANY - 10)
    assert seen.kappa == 1
    assert seen.ci95 is None, "they always agree"


def test_labels_without_an_attribution_or_with_another_one_are_counted() -> None:
    assert _report([_label(1, "sampling_noise")], None).unattributed == 1
    assert _report([_label(1, "sampling_noise")], None).with_attribution == ()
    found = _report(
        [
            _label(1, "sampling_noise", attributed="sampling_noise", method="trace"),
            _label(2, "sampling_noise", attributed="lock_in"),
        ]
    )
    assert found.changed == 1
    assert [each.agrees for each in found.held] == [False, False], "it is held against what is said now"
    early = _report([_label(1, "sampling_noise", blind=True), _label(2, "lock_in", blind=True)])
    assert early.changed == 0, "what was not worked out yet was nothing else"
    assert [row.agreed for row in early.with_attribution] == [1]


def test_the_order_of_labels_says_nothing() -> None:
    kinds: tuple[Mechanism, ...] = ("sampling_noise", "lock_in", "budget")
    labels = [_label(trial, kinds[trial * trial % 3]) for trial in range(MANY)]
    assert _report(labels).with_attribution == _report(labels[::-1]).with_attribution


def test_json_and_csv_have_what_was_said_then_and_what_is_said_now() -> None:
    found = _report(
        [_label(7, "sampling_noise", note='says "it", twice\n', attributed="budget", method="trace", turned_at=3)]
    )
    (line,) = json.loads(labels_json(found))["labels"]
    assert line["trial"] == f"{7:032x}"
    assert (line["attributed_then"], line["attributed"], line["agrees"]) == ("budget", "lock_in", False)
    text = labels_csv(found.held)
    assert text.splitlines()[0].startswith("trial,question,person,at,mechanism,distraction,turned_at,note,blind")
    assert '"says ""it"", twice' in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_view_fits_its_terminal_and_foreign_text_does_nothing(width: int) -> None:
    labels = [_label(trial, "sampling_noise", HOSTILE, note=HOSTILE * 20) for trial in range(MANY)]
    shown = page(labels_view(_report(labels), "s.db"), width)
    assert max(map(len, shown.splitlines())) <= width
    assert "\x1b]0;" not in shown
    assert "[red]m" in re.sub(r"\s", "", shown)


def test_a_store_without_labels_says_how_to_give_some() -> None:
    assert "toolablate view 'my store.db'" in page(labels_view(_report([]), "my store.db"), 120)


# Codebooks, two people, and who decides between them.


def _mine(trial: int, codes: tuple[str, ...], person: str = "Ada", **more: object) -> Label:
    return _label(trial, None, person, codebook="mine", codes=codes, **more)


def test_labels_by_different_codebooks_stand_beside_each_other() -> None:
    found = _report([_label(1, "lock_in"), _mine(1, ("a",)), _mine(1, ("b",)), _mine(2, ("a",)), _mine(2, ())])
    assert [(each.label.book, each.label.said, each.agrees) for each in found.held] == [
        ("mechanisms", ("lock_in",), True),
        ("mine", ("b",), None),
    ]
    types = [
        _label(1, "own_error", error_type="reasoning"),
        _label(1, None, codebook="error_types", error_type="knowledge"),
    ]
    assert [row.types["knowledge"].count for row in _report(types).error_types] == [1], "said later, of types alone"


def test_where_people_differ_somebody_decides() -> None:
    labels = [
        *(_label(1, "lock_in", person, blind=True) for person in ("Ada", "Ben")),
        _label(2, "lock_in", "Ada", blind=True, inclusion_probability=0.25),
        _label(2, "budget", "Ben", blind=True, inclusion_probability=0.25),
        _label(3, "lock_in", "Ada"),
    ]
    found = _report(labels)
    assert [(each.trial[-1], each.said, each.adjudicated, each.blind) for each in found.decided] == [
        ("1", ("lock_in",), False, True)
    ]
    assert [{each.label.person for each in own} for own in disputed(found.held)] == [{"Ada", "Ben"}]
    assert found.undecided == 1
    after = _report([*labels, _label(2, "budget", "Ada", adjudicated=True, blind=True)])
    assert [(each.trial[-1], each.said, each.adjudicated, each.weight) for each in after.decided] == [
        ("1", ("lock_in",), False, 1.0),
        ("2", ("budget",), True, 4.0),
    ]
    assert (after.undecided, disputed(after.held)) == (0, ())
    assert after.between_people == found.between_people, "it is no independent label"
    back = _report([*labels, _label(2, "budget", adjudicated=True), _label(2, None, adjudicated=True)])
    assert back.undecided == 1


def test_what_was_drawn_by_chance_counts_for_all_that_it_stands_for() -> None:
    rare = [_label(trial, "lock_in", inclusion_probability=1.0) for trial in range(0, 40, 2)]
    common = [_label(trial, "budget", inclusion_probability=0.1) for trial in range(40, 80, 2)]
    (row,) = _report([*rare, *common]).with_attribution
    assert row.agreed / row.trials == 0.5
    assert row.share == pytest.approx(20 / 220)
    assert row.weighted == {"lock_in": {"lock_in": 20.0}, "budget": {"lock_in": pytest.approx(200)}}
    assert row.share_ci95 is not None
    assert row.share_ci95[0] < 20 / 220 < row.share_ci95[1]
    assert "9 (" in page(labels_view(_report([*rare, *common]), "s.db"), 160)
    (seen,) = _report([_label(1, "lock_in")]).with_attribution
    assert (seen.share, seen.weighted) == (None, {})


def test_reliability_is_of_all_people_and_of_each_code_where_several_may_be_chosen() -> None:
    labels = [
        _mine(trial, ("a",) if (trial % 3 == 0) != (person == "Cleo" and trial % 8 == 0) else ("b",), person)
        for trial in range(MANY)
        for person in ("Ada", "Ben", "Cleo")
    ]
    (row,) = _report(labels).reliability
    assert (row.book, row.code, row.people, row.trials) == ("mine", "", ("Ada", "Ben", "Cleo"), MANY)
    assert row.alpha is not None
    assert row.ci95 is not None
    assert 0.6 < row.ci95[0] < row.alpha < row.ci95[1] < 1
    several = [_mine(trial, ("a", "b") if trial % 2 else ("b",), p) for trial in range(MANY) for p in ("Ada", "Ben")]
    assert [(row.code, row.alpha) for row in _report(several).reliability] == [("a", 1.0), ("b", None)]
    assert "mine" in page(labels_view(_report(labels), "s.db"), 120)


# The seven types of error.


def _diagnosis(trial: int, error_type: str, judge: str = "judge-a") -> Diagnosis:
    return Diagnosis(trial=f"{trial:032x}", judge=judge, error_type=error_type, distraction=None)


def test_types_of_people_stand_beside_a_judges_of_the_same_trials() -> None:
    labels = [
        _label(trial, "own_error", error_type="knowledge" if trial % 4 else "calculation") for trial in range(MANY)
    ]
    labels.append(_label(MANY, "own_error"))  # no type is said
    said = [_diagnosis(trial, "knowledge") for trial in range(2 * MANY)]  # of more than people read
    found = label_report(
        held(labels, lambda trial: AttributedCause(trial, trial, domain="LM"[int(trial, 16) % 2])), said
    )
    rows = {(row.rater, row.domain): row for row in found.error_types}
    assert [*rows] == [("Ada", "L"), ("judge-a", "L"), ("Ada", "M"), ("judge-a", "M"), ("Ada", None), ("judge-a", None)]
    ada, judge = rows["Ada", None], rows["judge-a", None]
    assert (ada.trials, judge.trials, ada.judge, judge.judge) == (MANY, MANY, False, True)
    assert ada.types["calculation"].share == 0.25
    low, high = ada.types["calculation"].ci95
    assert 0.1 < low < 0.25 < high < 0.4
    assert judge.types["hallucination"].share == 0
    assert 0 < judge.types["hallucination"].ci95[1] < 0.1
    (agreement,) = found.type_agreement
    assert (agreement.person, agreement.other, agreement.trials, agreement.agreed) == ("Ada", "judge-a", MANY, 45)
    text = page(labels_view(found, "s.db"), 160)
    assert "25 (16-37)" in text
    assert "all: judge-a" in text
    assert json.loads(labels_json(found))["error_types"][0]["types"]["reasoning"]["count"] == 0
    assert ",calculation,mechanisms," in labels_csv(found.held).splitlines()[1]


def test_repeats_of_a_question_do_not_make_types_surer() -> None:
    alone = _report([_label(2 * trial, "own_error", error_type=_KINDS[trial % 2]) for trial in range(10)])
    twice = _report([_label(trial, "own_error", error_type=_KINDS[trial // 2 % 2]) for trial in range(20)])
    one, other = (report.error_types[0].types["reasoning"] for report in (alone, twice))
    assert (one.share, other.share) == (0.5, 0.5)
    assert other.ci95 == pytest.approx(one.ci95, abs=0.01)


_KINDS = ("reasoning", "knowledge")
