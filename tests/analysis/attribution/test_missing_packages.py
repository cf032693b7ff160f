"""Code that fails because its kernel lacks a package, by replay: a fault that no replay repairs."""

from dataclasses import replace

from tests.analysis.attribution.cases import PAGE, REPLY
from tests.analysis.attribution.stories import imported, read
from tests.analysis.attribution.test_replay_rules import BOTH, NONE, drawn, label, of_two_kinds

from toolablate.analysis.attribution.decomposition import Arms, Replay, Scores, ToolKind
from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.forced_answers import Forcing
from toolablate.analysis.attribution.levels import chains, swapped_results


def lacking(sham: Scores, offered: Scores, swapped: float = 0.0) -> Evidence:
    """Code that failed for a missing package, so that its placebos fail as well; without tools it is right."""
    each = drawn("calling")
    arms = Arms(none=(1.0,) * 3, offered=offered, sham=sham)
    replay = Replay((0.0,), (0.0,), {NONE: (0.0,) * 4, frozenset({"code"}): (swapped,) * 2})
    inputs = replace(each.inputs, tools=frozenset[ToolKind]({"code"}), arms=arms, replay=replay)
    signals = read(*imported("ledgerkit"), *REPLY)
    return replace(each, signals=signals, inputs=inputs, trajectory=None, flip=None, ignore_tools=())


def test_code_that_a_missing_package_kept_from_running_is_a_fault_by_calls_that_work_and_find_nothing() -> None:
    found = label(lacking(sham=(1.0,) * 3, offered=(1.0,) * 3))
    assert (found.mechanism, found.evidence) == ("tool_fault", (1,))
    assert found.confidence > 0.7
    assert found.note.startswith("right where no code fails for a package that the kernel lacks: 3 of 3 right in ")


def test_where_calls_that_work_do_not_restore_it_a_missing_package_is_no_cause() -> None:
    found = label(lacking(sham=(0.0,) * 6, offered=(1.0,) * 6))
    assert (found.mechanism, found.shares.get("tool_fault", 0.0) < 0.1) == ("calling", True)


def test_what_no_arm_tells_apart_from_calls_is_likelier_the_missing_package() -> None:
    shares = label(lacking(sham=(), offered=(1.0,) * 6)).shares
    assert shares["tool_fault"] > 0.5 > shares["calling"] > 0


def test_placebos_of_code_that_lacks_a_package_take_no_fault_away() -> None:
    (levels,) = chains(lacking(sham=(1.0,) * 3, offered=(1.0,) * 3), Forcing())
    parts = {level.what: level.part for level in levels}
    assert parts[swapped_results(["code"])] == "again"
    assert [level.also for level in levels if level.part == "tool_fault"] == [{"first_reply"}]
    shares = label(lacking(sham=(0.0,) * 3, offered=(0.0,) * 3, swapped=1.0)).shares
    assert "lock_in" not in shares


def test_beside_a_search_that_misled_code_that_lacks_a_package_takes_no_part() -> None:
    each = drawn("code")
    events = [*PAGE, *imported("ledgerkit"), *REPLY]
    swapped: dict[frozenset[ToolKind], Scores] = {
        frozenset({"search"}): (1.0,) * 8,
        frozenset({"code"}): (0.0,) * 8,
        BOTH: (1.0,) * 8,
    }
    found = label(of_two_kinds(each, events, swapped))
    assert found.mechanism == "retrieval_distraction"
    assert "interaction" not in found.shares
