"""Labels of hand-made failures, each with the one that looks like it and is none."""

import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.attribution.stories import (
    CONDITION,
    QUESTION,
    asked,
    ended,
    imported,
    opened,
    ran,
    read,
    right,
    said,
    searched,
    told,
    wrong,
)

from toolablate.analysis.attribution.expected_failures import Pool, Tally
from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.analysis.attribution.signals.signal_types import Signals
from toolablate.analysis.attribution.trace_rules import (
    ArmShares,
    NoToolTrial,
    attribute_by_trace,
    blamed,
    fail_by_themselves,
    faults,
    repairable,
)
from toolablate.benchmarks.tatqa.scorer import em_and_f1
from toolablate.traces.records import (
    Attribution,
    Change,
    ChoiceTarget,
    Condition,
    Event,
    Mechanism,
    NumberTarget,
    Question,
    Score,
    SpansTarget,
)
from toolablate.traces.store import Store

DISTRACTOR = "1. Plants\n   They take molecular nitrogen from the air."
NO_TOOLS = Condition(name="none")
GENERAL = Question(
    id="g",
    prompt="Is n**2 + n + 41 prime for every positive integer n?",
    choices=("it is prime for all", "it is composite for some"),
    target=ChoiceTarget(letters=("B",)),
)
LOOP = "print(all(prime(n**2 + n + 41) for n in range(1, 40)))"


def label(signals: Signals, score: Score | None = None, no_tools: Sequence[NoToolTrial] = ()) -> Attribution:
    found = attribute_by_trace(signals, score or wrong(), no_tools)
    assert found is not None
    assert found.method == "trace"
    assert found.confidence < 1
    assert found.trial == signals.trial
    return found


def no_tools(answer: str, *, is_right: bool) -> NoToolTrial:
    return NoToolTrial(read(*ended(answer, specs=()), condition=NO_TOOLS), right() if is_right else wrong())


def alone(*events: Event, question: Question = QUESTION) -> tuple[str, tuple[int, ...]]:
    found = label(read(*events, question=question))
    return found.mechanism, found.evidence


def test_a_trial_that_is_right_or_has_no_score_has_no_label() -> None:
    signals = read(*searched("gas", DISTRACTOR), *ended("Answer: B"))
    assert attribute_by_trace(signals, right()) is None
    assert attribute_by_trace(signals, Score(trial="t", scorer="choice", verdict="unscored")) is None


def test_an_answer_found_in_a_search_is_retrieval_distraction() -> None:
    assert alone(*searched("gas", DISTRACTOR), *ended("Answer: B")) == ("retrieval_distraction", (1,))


def test_an_answer_that_changed_to_one_that_was_found_is_surer_still() -> None:
    plain = label(read(*searched("gas", DISTRACTOR), *ended("Answer: B")))
    turned = label(read(*searched("gas", DISTRACTOR, "I think it is A."), *ended("Answer: B")))
    assert turned.mechanism == "retrieval_distraction"
    assert turned.evidence == (0, 1, 2)
    assert turned.confidence > plain.confidence


def test_a_distractor_that_was_ignored_is_not_blamed() -> None:
    assert alone(*searched("gas", DISTRACTOR), *ended("Answer: C")) == ("unknown", ())


def test_a_rationalisation_that_names_a_source_without_the_answer_is_not_believed() -> None:
    reply = "According to what I found on the page, the answer is C."
    assert alone(*opened("u", "[1] Leaves\nLeaves are green."), *ended(reply))[0] == "unknown"


def test_a_reply_in_the_words_of_a_page_is_retrieval_too() -> None:
    page = "Leaves hold many small openings through which the air of the night flows in and out again"
    assert alone(*opened("u", page), *ended(f"{page}. Answer: C")) == ("retrieval_distraction", (1,))


def test_code_that_answers_a_finite_question_is_lock_in() -> None:
    found = label(read(*ran(LOOP, "it is prime for all"), *ended("Answer: A"), question=GENERAL))
    assert (found.mechanism, found.evidence) == ("lock_in", (1,))
    assert found.confidence == pytest.approx(0.8)
    assert "finitely many" in found.note


def test_code_that_says_otherwise_than_the_answer_is_less_sure() -> None:
    found = label(read(*ran(LOOP, "True"), *ended("Answer: A"), question=GENERAL))
    assert (found.mechanism, found.confidence) == ("lock_in", 0.45)


def test_a_number_of_a_program_is_lock_in_and_no_retrieval() -> None:
    question = Question(id="s", prompt="What is the ratio?", target=SpansTarget(spans=("0.5",)))
    assert alone(*ran("print(3/4)", "[0.75]"), *ended("[0.75]"), question=question) == ("lock_in", (1,))


def test_a_number_that_the_question_has_too_is_less_sure() -> None:
    question = Question(id="s", prompt="Is 12 or 18 the larger one?", target=SpansTarget(spans=("18",)))
    found = label(read(*ran("print(12)", "[12]"), *ended("[12]"), question=question))
    assert (found.mechanism, found.confidence) == ("lock_in", 0.45)


def test_the_right_answer_in_another_form_is_format() -> None:
    question = Question(id="s", prompt="How much was it?", target=SpansTarget(spans=("$2.7 million",)))
    found = label(read(*ran("print(2700000)", "[2700000]"), *ended("[2700000]"), question=question))
    assert (found.mechanism, found.evidence) == ("format", (3,))


def test_a_reply_without_an_answer_is_format_unless_the_budget_ended_it() -> None:
    silent = read(*searched("gas", DISTRACTOR), *ended("I am sure of my conclusion."))
    assert label(silent, wrong("unparsed")).mechanism == "format"
    stopped = read(*searched("gas", DISTRACTOR), *ended("I am sure of my conclusion.", "turns"))
    assert label(stopped, wrong("unparsed")).mechanism == "budget"


def test_an_option_that_is_named_by_its_place_is_lost_by_its_form_only_where_it_is_the_right_one() -> None:
    """The right one is the first."""
    events = searched("gas", DISTRACTOR)
    form = label(read(*events, *ended("I would take the first of these options.")), wrong("unparsed"))
    assert (form.mechanism, form.evidence) == ("format", (3,))
    content = label(read(*events, *ended("I would take the second of these options.")), wrong("unparsed"))
    assert content.mechanism != "format"


def test_a_budget_stop_is_blamed_and_a_near_one_is_not() -> None:
    events = searched("gas", "1. Trees\n   Trees are tall.")
    assert alone(*events, *ended("Answer: C", "turns")) == ("budget", (3,))
    near = CONDITION.model_copy(update={"budget": CONDITION.budget.model_copy(update={"turns": 2})})
    signals = read(*events, *ended("Answer: C"), condition=near)
    assert signals.budget.near == ("turns",)
    assert label(signals).mechanism == "unknown"


def test_a_package_that_the_kernel_lacks_to_the_end_is_a_fault_and_none_where_other_code_gave_something() -> None:
    signals = read(*imported("ledgerkit"), *imported("ledgerkit"), *ended("Answer: C"))
    found = label(signals)
    assert (found.mechanism, found.evidence, found.confidence) == ("tool_fault", (1, 3), 0.75)
    assert found.note == "a tool failed and never gave anything since: a package that the kernel lacks"
    assert (faults(signals), repairable(signals), fail_by_themselves(signals.troubles)) == ((1, 3), (), False)
    assert alone(*imported("ledgerkit"), *ran("print(1)", "1"), *ended("Answer: C"))[0] == "unknown"


def test_beside_a_missing_package_a_search_that_failed_can_be_repaired() -> None:
    signals = read(*imported("ledgerkit"), *searched("gas", "down", status="error", error="timeout"), *ended("C"))
    assert (faults(signals), repairable(signals), fail_by_themselves(signals.troubles)) == ((1, 3), (3,), True)


@pytest.mark.parametrize(
    ("events", "mechanism"), [(imported("a"), "tool_fault"), (ran("x = 1", "(no output)"), "calling")]
)
def test_beside_arms_what_empty_results_did_is_a_fault_where_a_package_kept_them_empty(
    events: list[Event], mechanism: Mechanism
) -> None:
    arms = ArmShares({"sampling_noise": 0.1}, 0.9, "sham 3 of 3")
    bare = [no_tools("Answer: A", is_right=True)] * 3
    found = attribute_by_trace(read(*events, *ended("Answer: C")), wrong(), bare, arms=arms)
    assert found is not None
    assert (found.mechanism, found.shares[mechanism] > 0.5) == (mechanism, True)


BROKEN = ran("1/0", "no answer", status="error", error="timeout")


def test_what_the_models_own_code_raises_is_no_fault_of_the_tool() -> None:
    own = ran("1/0", "ZeroDivisionError", status="error", error="ZeroDivisionError")
    assert alone(*own, *ended("Answer: C")) == ("calling", (1,))


def test_an_error_is_blamed_unless_it_was_recovered_from() -> None:
    assert alone(*BROKEN, *ended("Answer: C")) == ("tool_fault", (1,))
    assert alone(*BROKEN, *ran("print(1)", "1"), *ended("Answer: C"))[0] == "unknown"


def test_an_error_beside_an_answer_that_was_found_weighs_less() -> None:
    assert alone(*BROKEN, *searched("gas", DISTRACTOR), *ended("Answer: B"))[0] == "retrieval_distraction"


def test_of_two_causes_the_surer_one_is_named() -> None:
    events = (*searched("gas", DISTRACTOR, "I think it is A."), *ended("Answer: B", "tool_calls"))
    assert alone(*events)[0] == "retrieval_distraction"


def test_finding_nothing_is_no_fault_and_calls_that_gave_nothing_are_calling() -> None:
    assert alone(*searched("gas", "No results for 'gas'."), *ended("Answer: C")) == ("calling", (1,))
    sham = ran("print(1)", "(no output)", changes=(Change(intervention="sham"),))
    assert alone(*sham, *ended("Answer: C")) == ("calling", (1,))
    refused = told(asked("python", kode=""), "no", status="invalid", error="bad_arguments")
    assert alone(*refused, *ended("Answer: C"))[0] == "calling"


def test_tools_offered_and_not_called_are_availability_and_words_alone_the_prompt() -> None:
    assert alone(*ended("Answer: C")) == ("availability", (0,))
    assert alone(*ended("Answer: C", specs=())) == ("prompt", ())
    # Without tools and words it can only err by itself.
    assert label(read(*ended("Answer: C", specs=()), condition=NO_TOOLS)).mechanism == "own_error"


ADOPTED = (*searched("gas", DISTRACTOR), *ended("Answer: B"))


def test_what_is_mostly_wrong_without_tools_is_no_tools_doing() -> None:
    noisy = [no_tools("Answer: C", is_right=False)] * 3 + [no_tools("Answer: A", is_right=True)]
    assert label(read(*ADOPTED), no_tools=noisy).mechanism == "own_error"
    steady = [no_tools("Answer: A", is_right=True)] * 4
    assert label(read(*ADOPTED), no_tools=steady).mechanism == "retrieval_distraction"
    assert label(read(*ADOPTED), no_tools=steady).confidence > 0.5


SILENT = read(*searched("gas", "1. Trees\n   Trees are tall."), *ended("Answer: C"))


def pooled(*questions: tuple[Tally, int]) -> Pool:
    return Pool(tally for tally, times in questions for _ in range(times))


def test_where_nothing_speaks_for_a_tool_and_nothing_for_chance_nobody_knows() -> None:
    """A third of the questions is right without tools and wrong with them, and none is wrong without: no chance."""
    steady = no_tools("Answer: A", is_right=True)
    harmed = pooled((Tally(1, 1, 0, 1), 15), (Tally(1, 1, 1, 1), 31))
    found = attribute_by_trace(SILENT, wrong(), [steady], pool=harmed)
    assert found is not None
    assert (found.mechanism, found.evidence) == ("unknown", ())
    assert found.confidence > 0.85
    assert "about 2 of 100 such failures are expected without tools as well" in found.note


def test_a_question_is_taken_for_one_like_the_others_where_it_has_few_trials() -> None:
    """The same trial where as many questions are wrong without tools as with them."""
    steady = no_tools("Answer: A", is_right=True)
    even = ((Tally(1, 1, 0, 1), 8), (Tally(0, 1, 1, 1), 8), (Tally(1, 1, 1, 1), 28), (Tally(0, 1, 0, 1), 2))
    found = attribute_by_trace(SILENT, wrong(), [steady], pool=pooled(*even))
    assert found is not None
    assert found.mechanism == "sampling_noise"


def test_noise_is_never_surer_than_what_chance_alone_makes_wrong() -> None:
    for without, right_with, trials in ((3, 0, 3), (3, 2, 3), (2, 1, 3), (9, 4, 10), (8, 7, 10), (1, 0, 1)):
        questions = pooled((Tally(without, trials, right_with, trials), 20))
        bares = [no_tools("Answer: A", is_right=place < without) for place in range(trials)]
        repeats = [float(place < right_with) for place in range(trials - 1)]
        found = attribute_by_trace(SILENT, wrong(), bares, repeats, questions)
        expected = questions.expected(Tally(without, trials, right_with, trials))
        assert found is not None
        share = {"sampling_noise": expected.sampling_noise, "own_error": expected.own_error, "unknown": expected.beyond}
        assert found.confidence == pytest.approx(share[found.mechanism], abs=1e-4)
        assert found.confidence == pytest.approx(max(share.values()), abs=1e-4)


def test_retrieval_is_told_with_how_it_drew_the_model_away() -> None:
    assert label(read(*ADOPTED)).distraction == "misleading_adoption"
    said = "The page describes nitrogen, so plants should take it in as the recommended way. Answer: B"
    assert label(read(*searched("gas", DISTRACTOR), *ended(said))).distraction == "existence_as_norm"


def test_what_is_never_right_without_tools_is_the_models_own_error() -> None:
    found = label(read(*ADOPTED), no_tools=[no_tools("Answer: C", is_right=False)] * 4)
    assert (found.mechanism, found.evidence) == ("own_error", ())
    assert "0 of 4" in found.note


def test_an_answer_that_comes_without_tools_too_is_less_surely_a_tools() -> None:
    mostly = [no_tools("Answer: A", is_right=True)] * 3
    other = label(read(*ADOPTED), no_tools=[*mostly, no_tools("Answer: C", is_right=False)])
    same = label(read(*ADOPTED), no_tools=[*mostly, no_tools("Answer: B", is_right=False)])
    assert (other.mechanism, same.mechanism) == ("retrieval_distraction", "sampling_noise")


def test_trials_without_a_score_are_left_out() -> None:
    unscored = NoToolTrial(
        read(*ended("", specs=()), condition=NO_TOOLS), Score(trial="t", scorer="choice", verdict="unscored")
    )
    assert label(read(*ADOPTED), no_tools=[unscored]) == label(read(*ADOPTED))


def test_notes_hold_no_words_of_models_or_tools() -> None:
    hostile = "\x1b[31m[bold]Answer: B"
    events = (
        said(hostile, asked(hostile, a=hostile)),
        *told(asked(hostile, a=hostile), hostile, status="error", error=hostile),
        *searched(hostile, f"{DISTRACTOR} {hostile}"),
        *ended(f"{hostile} Answer: B"),
    )
    assert label(read(*events)).note.isprintable()
    assert "bold" not in label(read(*events)).note


def test_a_prompt_that_is_mostly_wrong_without_tools_is_the_cause_and_not_the_offer() -> None:
    signals = replace(read(*ended("Answer: C")), prompted=True)

    def beside(*scaffold: float) -> str:
        found = attribute_by_trace(signals, wrong(), scaffold=scaffold)
        assert found is not None
        return found.mechanism

    assert (beside(0.0, 0.0, 1.0), beside(1.0, 1.0, 0.0), beside()) == ("prompt", "availability", "availability")


def test_other_repeats_tell_what_the_condition_does_from_chance() -> None:
    noisy = [no_tools("Answer: A", is_right=True)] * 3 + [no_tools("Answer: C", is_right=False)]
    signals = read(*ended("Answer: C"))

    def beside(*repeats: float) -> tuple[str, float]:
        found = attribute_by_trace(signals, wrong(), noisy, repeats)
        assert found is not None
        return found.mechanism, found.confidence

    assert beside(0.0, 0.0)[0] == beside(0.0, 0.0, 0.0, 0.0)[0] == "availability"
    assert beside(0.0, 0.0)[1] < beside(0.0, 0.0, 0.0, 0.0)[1]
    assert beside(1.0, 1.0, 0.0)[0] == beside(1.0, 1.0, 1.0)[0] == "sampling_noise"
    assert beside(1.0, 1.0, 0.0)[1] < beside(1.0, 1.0, 1.0)[1] < 1


def test_arms_tell_what_a_sign_in_the_trace_does_not() -> None:
    right_without = [no_tools("Answer: A", is_right=True)] * 3

    def beside(shares: Mapping[Mechanism, float], *events: Event) -> tuple[str, float]:
        arms = ArmShares(shares, 1 - math.fsum(shares.values()), "sham 0 of 3")
        found = attribute_by_trace(read(*events), wrong(), right_without, (0.0, 0.0), arms=arms)
        assert found is not None
        assert "right: sham 0 of 3; 3 of 3 trials without tools are right" in found.note
        return found.mechanism, found.confidence

    by_results, by_calling, by_none = {"calling": 0.1}, {"calling": 0.8}, {"availability": 0.8}
    assert beside(by_results, *ADOPTED)[0] == "retrieval_distraction"
    assert beside(by_calling, *ADOPTED)[0] == "calling"
    assert beside(by_none, *ADOPTED)[0] == beside(by_none, *ended("Answer: C"))[0] == "availability"
    # A sign makes its own cause likelier.
    assert beside({"availability": 0.4}, *ended("Answer: C"))[1] > 0.4


def test_what_is_never_right_without_tools_is_an_own_error_beside_repeats_too() -> None:
    none_right = [no_tools("Answer: C", is_right=False)] * 3
    assert (
        getattr(attribute_by_trace(read(*ADOPTED), wrong(), none_right, (0.0, 0.0)), "mechanism", None) == "own_error"
    )


def test_a_right_answer_in_another_form_is_no_noise() -> None:
    target = SpansTarget(spans=("85.1",), scale="million")
    question = Question(id="s", prompt="How much?", target=target)
    signals = read(*ran("print(85123)", "85123"), *ended('{"answer": 85123, "scale": "thousand"}'), question=question)
    beside = [no_tools("Answer: 85.1", is_right=False)] * 3
    found = label(signals, no_tools=beside)
    assert (found.mechanism, found.confidence) == ("format", 0.65)


def test_a_program_with_wrong_numbers_or_none_at_all_needs_no_tool_to_be_wrong() -> None:
    question = Question(id="s", prompt="2,822 | 3,044 | 3,513. The change?", target=NumberTarget(value=222))
    slip = ran("old = 2822\nnew = 3513\nprint(new - old)", "691"), ended("Answer: 691")
    swapped = ran("old = 2822\nnew = 3044\nprint(old - new)", "-222"), ended("Answer: -222")
    assert alone(*slip[0], *slip[1], question=question) == ("own_error", (1,))
    assert alone(*swapped[0], *swapped[1], question=question)[0] == "lock_in"
    signals = read(*slip[0], *slip[1], question=question)
    usually = label(signals, no_tools=[no_tools("Answer: A", is_right=True)] * 3)
    never = label(signals, no_tools=[no_tools("Answer: A", is_right=False)] * 3)
    assert (usually.mechanism, never.mechanism) == ("sampling_noise", "own_error")


def test_a_result_whose_sign_the_sentence_leaves_out_is_the_programs() -> None:
    question = Question(id="s", prompt="Which place?", target=NumberTarget(value=6))
    assert alone(*ran("print(f())", "-4"), *ended("Answer: 4"), question=question)[0] == "lock_in"
    assert alone(*ran("print(f())", "7.3"), *ended("Answer: 5"), question=question)[0] == "unknown"


def test_a_reply_that_stops_in_a_sentence_and_gives_no_answer_ran_out() -> None:
    text = "Plants take up several gases, and each of them has another use. " * 8
    found = label(read(*ended(text + "The one that they make sugar"), *()), wrong("unparsed"))
    assert (found.mechanism, found.evidence) == ("budget", (1,))
    assert label(read(*ended(text)), wrong("unparsed")).mechanism == "format"


# Labels of real failures: questions that one model answered rightly in words and wrongly by a program.


ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("TOOLABLATE_DATA", ROOT.parent / "shared/data")) / "tatqa_codex_conditions.jsonl"
FLIPS = {"direct": 131, "cot": 155}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The flips alone, converted and run as the example says."""
    if not DATA.exists():
        pytest.skip(f"the recorded data are not here: {DATA} (set TOOLABLATE_DATA to their folder)")
    folder = tmp_path_factory.mktemp("tatqa")
    with DATA.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for baseline, count in FLIPS.items():
        assert sum(flips(row, baseline) for row in rows) == count
    kept = [row for row in rows if any(flips(row, baseline) for baseline in FLIPS)]
    recorded = folder / "recorded.jsonl"
    recorded.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    example = ROOT / "examples/tatqa"
    run(example / "convert.py", recorded, folder / "data", folder=folder)
    (folder / "plan.toml").write_text((example / "plan.toml").read_text(encoding="utf-8"), encoding="utf-8")
    run("-m", "toolablate", "run", folder / "plan.toml", folder=folder)
    return folder / "runs/tatqa.sqlite"


def flips(row: dict[str, Any], baseline: str) -> bool:
    return is_right(row, baseline) and not is_right(row, "pot")


def is_right(row: dict[str, Any], condition: str) -> bool:
    given = row[condition]["pred_answer"] or []
    scales = {"scale": row[condition]["pred_scale"], "wanted_scale": row["scale"]}
    return em_and_f1(texts(given), texts(row["answer"]), **scales)[0] == 1


def texts(value: Any) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [item if isinstance(item, str) else json.dumps(item) for item in items]


def run(*command: str | Path, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=folder, capture_output=True, text=True, check=False, timeout=110
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def labels(path: Path, baseline: str) -> dict[str, tuple[Attribution, Signals]]:
    """By question, of those that turned wrong in this run: a few programs give other numbers than they did."""
    seen: dict[tuple[str, str], tuple[Signals, Score]] = {}
    with Store(path) as store:
        questions = {question.identity(): question for question in store.questions()}
        conditions = {condition.identity(): condition for condition in store.conditions()}
        for trace in store.traces():
            question, condition = questions[trace.trial.question], conditions[trace.trial.condition]
            score = store.scores(trace.trial.id)[0]
            seen[question.id, condition.name] = signals_of(trace, question, condition), score
    found = {}
    for (question_id, condition_name), (signals, score) in seen.items():
        before = NoToolTrial(*seen[question_id, baseline])
        label = attribute_by_trace(signals, score, [before])
        if condition_name == "pot" and before.score.value == 1 and label is not None:
            found[question_id] = label, signals
    return found


@pytest.mark.deep
@pytest.mark.parametrize("baseline", FLIPS)
def test_every_flip_has_a_label_and_evidence(store: Path, baseline: str) -> None:
    found = labels(store, baseline)
    assert abs(len(found) - FLIPS[baseline]) <= 2
    counted = Counter(label.mechanism for label, _ in found.values())
    # One program, one result, one final reply: nothing was searched, refused, or stopped.
    assert set(counted) <= {"lock_in", "format", "calling", "sampling_noise", "unknown"}
    assert counted["unknown"] <= 0.05 * len(found)
    for label, signals in found.values():
        assert label.evidence or label.mechanism in ("sampling_noise", "unknown")
        assert signals.budget.stopped is None
        assert signals.calls[0].form == "code"


# Read by hand: the question, the program, its output and the reply without tools.
BY_HAND = {
    # $195,837 thousand came out as 195.837 million, which is rounded, $12,381,521 as so many thousands.
    "9e9b0fb5-0bf6-4bc2-a760-eb4ebac1b460": "format",
    "33fd26df-9da7-489c-96e6-bd43a8b79d89": "format",
    # The table says 49 %, the program divides and gives 48.7.
    "f036c54e-3e90-4740-bf34-bf175c9c7a4a": "format",
    # "USD500 million" came out as "$500 million".
    "49417eb5-0d20-4371-94f1-9a00c25a2595": "format",
    # One text became a list of its parts.
    "09998ed3-ee55-45ea-9093-3a0a27baa8fa": "format",
    # A duration that the text states became a half difference of two amounts.
    "2996d8a9-8fdc-46f7-9a6b-443663c6f03c": "lock_in",
    # The difference of the wrong two numbers.
    "5fa12af1-123b-4683-b2ed-5a2b439c50f4": "lock_in",
    # A change in points of percent became one relative to the year before.
    "37a06d19-6aec-40a6-862a-fa7629b64208": "lock_in",
    "973464b5-a5fe-4381-9bc5-e225f5ba9a2c": "lock_in",
    # Sorted without the absolute value: the least change came out as the greatest.
    "0dfdb4bf-8fa4-4865-860a-18dbe1c41a01": "lock_in",
}


@pytest.mark.deep
def test_flips_that_were_read_by_hand_have_the_label_that_they_should(store: Path) -> None:
    found = {baseline: labels(store, baseline) for baseline in FLIPS}
    for question, mechanism in BY_HAND.items():
        label = next(each[question][0] for each in found.values() if question in each)
        assert label.mechanism == mechanism, (question, label.note)


def test_a_mechanism_is_named_where_it_is_as_likely_as_chance_under_both_its_names() -> None:
    assert blamed({"prompt": 0.42, "sampling_noise": 0.28, "own_error": 0.22}) == "sampling_noise"
    assert blamed({"prompt": 0.45, "sampling_noise": 0.25, "own_error": 0.15}) == "prompt"
    assert blamed({"prompt": 0.3, "own_error": 0.25, "sampling_noise": 0.2}) == "own_error"
    assert blamed({"prompt": 0.3, "volume": 0.2}) == "prompt"
