"""Decompositions and the trials behind them, in a terminal."""

import re
from dataclasses import replace

import pytest
from tests.reports.attribution.samples import (
    IDENTITY,
    UNREPLAYED,
    attribution,
    decomposition,
    evidence,
    explained,
    floor,
    page,
    report,
)

from toolablate.analysis.attribution.evidence import Explained
from toolablate.analysis.attribution.judge_labels import error_types, judged_distractions
from toolablate.reports.terminal.attribution import attribution_view, rests_on
from toolablate.traces.records import Diagnosis, Distraction, ErrorType
from toolablate.traces.store import TrialSummary

HOSTILE = "\x1b]0;owned\x07[red]m\u202e"


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_decomposition_fits_its_terminal_and_names_every_mechanism(width: int) -> None:
    found = decomposition()
    shown = page(attribution_view(report(found)), width)
    assert max(map(len, shown.splitlines())) <= width
    joined = re.sub(r"\s+", " ", shown)
    for name in ("tool fault", "calling", "sampling noise", "unresolved", "effect", "no tools"):
        assert name in joined
    for each in found.mechanisms:
        assert f"{abs(each.points):.1f}" in shown


def test_bars_begin_where_the_last_one_ended_and_the_effect_spans_them() -> None:
    lines = page(attribution_view(report()), 160).splitlines()
    rows = [line for line in lines if re.search(r"[█▒│]\s*$", line) and "p Holm" not in line]
    spans = [(found.start(), found.end()) for line in rows if (found := re.search(r"[█▒│]+\s*$", line.rstrip()))]
    first, last = spans[0], spans[-1]
    assert last[1] == first[1]
    assert spans[-2][0] == last[0]
    assert spans[1][1] == first[1]


def test_what_is_unresolved_is_shown_also_where_it_is_nothing() -> None:
    found = decomposition()
    without = replace(found, mechanisms=tuple(each for each in found.mechanisms if each.name != "unresolved"))
    assert re.search(r"unresolved +0\.0", page(attribution_view(report(without)), 120))


def test_it_is_told_on_what_each_mechanism_rests() -> None:
    replayed = page(attribution_view(report()), 120)
    assert re.search(r"retrieval distraction.* replays ", replayed)
    assert re.search(r"calling.* arms ", replayed)
    assert "240 of 240 trials were replayed, a random sample (100 % of the wrong, 30 % of the right)" in re.sub(
        r"\s+", " ", replayed
    )
    alone = page(attribution_view(report(decomposition(replayed=False), design=None)), 120)
    assert "None of 240 trials was replayed; what needs replays is unresolved." in alone
    assert re.search(r"format lost.* trace ", alone)
    assert "retrieval distraction" not in alone.partition("Wrong trials")[0]


def test_without_replays_the_use_of_tools_rests_on_arms() -> None:
    """Which is placebo less sham, as far as it is known."""
    rested = {
        name: rests_on(name, decomposition(replayed=False)) for name in ("use", "calling", "format_loss", "unresolved")
    }
    assert rested == {"use": "arms", "calling": "arms", "format_loss": "trace", "unresolved": ""}
    assert rests_on("use", decomposition()) == "replays"


def test_effects_of_which_nothing_is_known_share_one_table() -> None:
    found = decomposition(replayed=False)
    nothing = replace(found, mechanisms=tuple(each for each in found.mechanisms if each.name == "unresolved"))
    alone = page(attribution_view(report(nothing, design=None)), 120)
    assert "None of 240 trials was replayed" in alone
    both = page(attribution_view(report(nothing, replace(nothing, condition="python"), design=None)), 120)
    assert "Effects against no tools (none), unresolved: no trial was replayed" in both
    assert re.search(r"T .* 14 / 3 +6", both)
    assert re.search(r"python .* 14 / 3 +6", both)
    assert "The mechanisms sum" not in both
    assert "█ gain" not in both
    known = page(attribution_view(report(found, nothing, replace(nothing, condition="python"), design=None)), 120)
    assert known.count("The mechanisms sum") == 1
    assert "█ gain" in known


def test_flips_stand_beside_those_of_chance() -> None:
    found = decomposition()
    known = page(attribution_view(report(found)), 160)
    assert "14 right to wrong, 3 wrong to right; by chance alone 6 either way" in known
    unknown = page(attribution_view(report(found, floors=(floor(found, noise=None),))), 160)
    assert "what chance alone gives is not known without repeats of 2 or more" in unknown


def test_few_questions_are_marked() -> None:
    few = page(attribution_view(report(decomposition(questions=20))), 120)
    assert "*: fewer than 40 independent questions" in few
    assert re.search(r"effect +−[\d.]+ +\*", few)
    assert "*: fewer" not in page(attribution_view(report()), 120)


def test_what_is_nothing_in_every_trial_is_told_in_a_line() -> None:
    found = decomposition(replayed=False)
    lost = next(each for each in found.mechanisms if each.name == "format_loss")
    nothing = replace(lost, points=0.0, ci90=None, ci95=None)
    others = (each for each in found.mechanisms if each.name != "prompt")
    prompt = replace(nothing, name="prompt")
    without = replace(found, mechanisms=(*(nothing if each is lost else each for each in others), prompt))
    shown = page(attribution_view(report(without)), 120)
    assert "0 in every trial: format lost (unreadable answers), prompt." in shown
    assert not re.search(r"format lost +0\.0", shown)


def test_a_gain_under_the_name_of_a_harm_is_told() -> None:
    assert "named for a harm can have points above 0" in page(attribution_view(report()), 120)
    alone = report(decomposition(replayed=False), design=None)
    assert "A harm's name" not in page(attribution_view(alone), 120)


def test_noise_and_the_unresolved_have_no_p_value() -> None:
    shown = page(attribution_view(report()), 120)
    assert re.search(r"sampling noise .* - +- ", shown)
    assert "corrected for 10 tests." in shown


def test_trials_are_listed_with_mechanism_method_and_evidence() -> None:
    guessed = Explained(
        evidence(**UNREPLAYED), attribution(method="trace", mechanism="lock_in", distraction=None, evidence=(0, 1, 2))
    )
    shown = page(attribution_view(report(explained=(explained(), guessed))), 160)
    assert "Wrong trials with tools: 2" in shown
    assert "By replay: retrieval distraction 1." in shown
    assert "By trace alone: computational lock-in 1." in shown
    assert re.search(r"retrieval distraction \(misleading content adopted\) +replay +\.82 +1 +1", shown)
    assert re.search(r"computational lock-in +trace +\.82 +\S* +0, 1, 2", shown)
    assert "Attributions by trace or judge are hypotheses" in shown


def test_more_trials_than_fit_are_listed_when_they_are_asked_for() -> None:
    many = report(explained=(explained(),) * 25)
    assert "15 more: --list" in page(attribution_view(many))
    assert "--list" not in page(attribution_view(many, all_trials=True))


def test_what_lacks_replays_and_what_is_to_be_known_is_told() -> None:
    shown = page(attribution_view(report(unreplayed=3, notes=("python, m: a note.",))))
    assert "Missing replays: run attribute --replay" in shown
    assert " python, m: a note." in shown


def test_names_are_inert_and_simulated_models_are_announced() -> None:
    found = decomposition(model=HOSTILE, condition=HOSTILE)
    shown = page(attribution_view(report(found, simulated=frozenset({HOSTILE}), notes=(HOSTILE,))), markup=True)
    assert "owned" not in shown
    assert "\u202e" not in shown
    assert "[red]m" in shown
    assert "SIMULATED" in shown
    assert "SIMULATED" not in page(attribution_view(report()))


def test_among_real_models_the_stand_ins_are_marked_by_row() -> None:
    other = Explained(replace(evidence(), model="real"), attribution())
    mixed = page(attribution_view(report(explained=(explained(), other), simulated=frozenset({"m"}))), 160)
    assert "m (simulated)" in mixed.partition("Wrong trials")[2]
    assert "real (simulated)" not in mixed
    alone = page(attribution_view(report(simulated=frozenset({"m"}))), 160).partition("Wrong trials")[2]
    assert "SIMULATED" in alone
    assert "(simulated)" not in alone


def test_without_a_decomposition_it_is_said() -> None:
    shown = page(attribution_view(report(decompositions=(), floors=(), explained=())))
    assert "No trial with tools has a trial without tools of the same question to compare with" in re.sub(
        r"\s+", " ", shown
    )


def test_what_judges_read_is_shown_apart_and_sums_to_what_was_measured() -> None:
    found = decomposition(model="m", condition="search")
    labels: list[tuple[ErrorType, Distraction | None]] = [
        ("knowledge", "misleading_adoption"),
        ("knowledge", "existence_as_norm"),
        ("calculation", "misleading_adoption"),
        ("other", None),
    ]
    trials = tuple(
        explained(evidence(diagnoses=(Diagnosis(trial=IDENTITY, judge="j@1", error_type=error, distraction=drawn),)))
        for error, drawn in labels
    )
    (judged,) = judged_distractions(found, trials)
    term = next(each.points for each in found.mechanisms if each.name == "retrieval_distraction")
    assert sum(judged.points.values()) == pytest.approx(term)
    assert judged.points["misleading_adoption"] == pytest.approx(term * 2 / 3)
    seen = TrialSummary("q", "m", "search", value=0.0, domain="biology", trial=IDENTITY)
    errors = error_types([seen], [each.evidence.diagnoses[0] for each in trials])
    shown = " ".join(page(attribution_view(report(found, judged=(judged,), errors=tuple(errors))), 160).split())
    assert "as j@1 reads 4 trials: misleading content adopted −8.4 (50 %), existence taken as norm −4.2 (25 %)" in shown
    assert "Not corrected for the judge's errors: no planted trials tell how the judge errs." in shown
    assert "Errors as j@1 reads them, in % of labelled wrong trials" in shown
    assert shown.index("knowledge") < shown.index("50 (") < shown.index("25 (")


def test_trials_of_other_decompositions_or_mechanisms_are_not_shared_out() -> None:
    diagnosis = Diagnosis(trial=IDENTITY, judge="j", error_type="other", distraction="over_engineering")
    read_so = evidence(diagnoses=(diagnosis,))
    assert judged_distractions(decomposition(), (explained(read_so),)) == ()
    mine = decomposition(model="m", condition="search")
    assert judged_distractions(mine, (explained(read_so, mechanism="sampling_noise", distraction=None),)) == ()


def test_points_of_lock_in_under_another_name_are_told() -> None:
    found = decomposition()
    other = tuple(
        replace(each, name="other_results") if each.name == "computation_misled" else each for each in found.mechanisms
    )
    told = "Other content of code: harm or gain"
    assert told in page(attribution_view(report(found)), 200)
    assert told not in page(attribution_view(report(replace(found, mechanisms=other))), 200)
