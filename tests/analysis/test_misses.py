"""What the archive could not give: counted by the store, shown by condition, and tested for a difference."""

import io
import random
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from tests.traces.samples import begun, plan

from toolablate.analysis.misses import miss_differences, miss_rates
from toolablate.reports.terminal.problems import misses_view
from toolablate.traces.records import Lookup, Marker, MissKind, ToolCall, ToolRequest
from toolablate.traces.store import Recorder, Store, TrialSummary, verify


def looked(miss: MissKind | None = None, *markers: Marker) -> ToolCall:
    call = ToolRequest(id="1", name="web_search", arguments="{}")
    return ToolCall(at=0, call=call, output="", lookup=Lookup(kind="search", key="k", miss=miss), markers=markers)


async def test_lookups_and_markers_are_counted_when_a_trial_ends(tmp_path: Path) -> None:
    leak = Marker(kind="answer_leak", where="http://a.example/", excerpt="A")
    withheld = Marker(kind="withheld", where="http://a.example/")
    with Recorder(tmp_path / "s.db") as recorder:
        first, second = plan(recorder)[:2]
        session = await begun(recorder, first)
        for event in (
            looked(),
            looked("not_in_archive"),
            looked("not_in_archive", leak, leak, withheld),
            looked("after_cutoff"),
        ):
            session.record(event)
        await session.finish("answered", 1.0)
        await (await begun(recorder, second)).finish("answered", 1.0)
    assert verify(tmp_path / "s.db").ok
    with Store(tmp_path / "s.db") as store:
        seen = {summary.trial: summary for summary in store.summaries()}
    counted = seen[first.id]
    assert (counted.lookups, counted.leaks, counted.withheld) == (4, 1, 1)
    assert counted.misses == (("after_cutoff", 1), ("not_in_archive", 2))
    assert (seen[second.id].lookups, seen[second.id].misses, seen[second.id].leaks) == (0, (), 0)


def seen(
    condition: str, question: str, lookups: int, misses: int, *, leaks: int = 0, cluster: str = ""
) -> TrialSummary:
    missed: tuple[tuple[MissKind, int], ...] = (("not_in_archive", misses),) if misses else ()
    return TrialSummary(
        question=question, model="m", condition=condition, cluster=cluster, lookups=lookups, misses=missed, leaks=leaks
    )


def test_rates_are_shares_of_lookups_and_failed_trials_stay_out() -> None:
    trials = [
        seen("search", "q1", 3, 1),
        seen("search", "q2", 1, 0, leaks=2),
        seen("none", "q1", 0, 0),
        TrialSummary("q3", "m", "search", outcome="failed", lookups=9, misses=(("recorded_error", 9),)),
    ]
    (row,) = miss_rates(trials)
    assert (row.condition, row.trials, row.lookups, row.rate, row.leaked_trials) == ("search", 2, 4, 25.0, 1)
    assert row.misses == {"not_in_archive": 1}
    assert miss_differences(trials) == []


def test_a_condition_that_misses_more_is_flagged_in_words() -> None:
    trials = [seen(condition, f"q{number}", 4, misses) for number in range(20)
              for condition, misses in (("search", 0), ("all", number % 3))]  # fmt: skip
    differences = miss_differences(trials, ["search", "all"])
    assert [(each.conditions, round(each.points, 1)) for each in differences] == [(("search", "all"), 23.8)]
    assert differences[0].p_value < 0.001
    view = misses_view(miss_rates(trials, ["search", "all"]), differences)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(view)
    shown = console.export_text()
    assert "under all lookups were missed 23.8 points more often than under search" in shown
    assert any("all" in line and "23.8" in line and "80" in line for line in shown.splitlines())


def test_pairs_of_all_models_are_corrected_together() -> None:
    alone = [seen(condition, f"q{number}", 4, misses) for number in range(7)
             for condition, misses in (("search", 0), ("all", 1))]  # fmt: skip
    (only,) = miss_differences(alone)
    both = miss_differences([*alone, *(replace(trial, model="other") for trial in alone)])
    assert [each.model for each in both] == ["m", "other"]
    assert [each.p_value for each in both] == pytest.approx([2 * only.p_value] * 2)


def test_a_large_difference_of_few_questions_is_named_as_such() -> None:
    trials = [seen(condition, f"q{number}", 10, misses) for number in range(3)
              for condition, misses in (("search", 0), ("all", 10))]  # fmt: skip
    shown = _shown(trials)
    assert "Perhaps a confound: under search lookups were missed 100.0 points less often than under all" in shown
    assert "too few questions" in shown


def _shown(trials: list[TrialSummary]) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(misses_view(miss_rates(trials), miss_differences(trials)))
    return console.export_text()


def test_nothing_is_shown_where_nothing_was_missed() -> None:
    trials = [seen("search", "q1", 3, 0), seen("all", "q1", 2, 0)]
    assert misses_view(miss_rates(trials), miss_differences(trials)) is None


@pytest.mark.deep
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_equal_miss_rates_are_flagged_one_time_in_twenty(spread: float) -> None:
    """Three conditions that look up differently often and miss alike, question by question: a family of three pairs."""
    rng = random.Random(11)
    runs, flagged = 600, 0
    for _ in range(runs):
        trials = []
        for number in range(60):
            chance = min(1.0, max(0.0, 0.2 + rng.uniform(-spread, spread)))
            for condition, most in (("search", 6), ("all", 3), ("brief", 2)):
                lookups = rng.randint(1, most)
                misses = sum(rng.random() < chance for _ in range(lookups))
                trials.append(seen(condition, f"q{number}", lookups, misses))
        flagged += any(each.p_value < 0.05 for each in miss_differences(trials, resamples=500))
    assert 0.02 <= flagged / runs <= 0.075
