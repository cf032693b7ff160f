"""What designs can see, from assumed and from measured variances, as a table and as a page."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len
from tests.conftest import Cli, WritePlan
from tests.traces.pages import SAFE, shown

from toolablate.analysis.effect import FEW_CLUSTERS
from toolablate.analysis.power import (
    Aim,
    Needed,
    PairedDesign,
    PowerTable,
    assumed_variances,
    measured_variances,
    paired_design,
    power_json,
    power_table,
)
from toolablate.experiments.plan_power import Assumed, plan_design, plan_power
from toolablate.experiments.plans.plan import load_plan
from toolablate.reports.terminal.power import power_view
from toolablate.traces.errors import InputError
from toolablate.traces.store.summaries import TrialSummary

WIDTHS = [20, 40, 60, 80, 100, 140, 200]
EVIL = "\x1b]52;c;AAAA\x07\x1b[2J[red]x[/nonsense]\u202e\r\x00"
DESIGN = paired_design([""] * 430, 3, 1)


def observed(
    repeats: int, *, count: int = 120, cluster: int = 1, conditions: Sequence[str] = ("python",), **changes: object
) -> list[TrialSummary]:
    """A baseline at one half and conditions of which every other cluster gains."""
    rng = np.random.default_rng(7)
    names = ("none", *conditions)
    return [
        replace(
            TrialSummary(question=f"q{number}", model="gpt-x", condition=name, repeat=repeat),
            value=float(rng.random() < 0.5 + (name != "none") * (number // cluster % 2) * 0.4),
            cluster=f"c{number // cluster}" if cluster > 1 else "",
            **changes,
        )
        for name in names
        for number in range(count)
        for repeat in range(repeats)
    ]


def points(table: PowerTable) -> dict[int, float]:
    return {row.repeats: row.plain.points for row in table.sights[0].rows if row.plain.points is not None}


def test_points_by_repeats_are_the_issues_and_the_plans_own_is_among_them() -> None:
    found = points(power_table(replace(DESIGN, repeats=4), Aim(), [assumed_variances(DESIGN)]))
    assert list(found) == [1, 2, 3, 4, 5, 8, 10]
    assert {f"{repeats}: {found[repeats]:.1f}" for repeats in (1, 3, 5, 8)} == {"1: 5.6", "3: 3.6", "5: 3.0", "8: 2.7"}


def test_a_corrected_level_sees_less() -> None:
    twelve = power_table(replace(DESIGN, comparisons=12), Aim(effect_points=3), [assumed_variances(DESIGN)]).sights[0]
    strict = power_table(DESIGN, Aim(alpha=0.05 / 12, effect_points=3), [assumed_variances(DESIGN)]).sights[0]
    assert [row.corrected for row in twelve.rows] == [row.plain for row in strict.rows]
    assert twelve.corrected_needed == strict.needed
    assert [row.plain.points for row in twelve.rows] < [row.corrected.points for row in twelve.rows]


def test_what_an_effect_takes_would_show_it() -> None:
    sight = power_table(DESIGN, Aim(effect_points=3), [assumed_variances(DESIGN)]).sights[0]
    needed = {row.repeats: row.plain.questions for row in sight.rows}
    wider = replace(DESIGN, questions=needed[2])
    assert points(power_table(wider, Aim(), [assumed_variances(DESIGN)]))[2] == pytest.approx(3, abs=0.01)
    assert points(power_table(wider, Aim(), [assumed_variances(DESIGN)]))[2] <= 3
    assert sight.needed is not None
    repeats = sight.needed.repeats or 0
    longer = points(power_table(replace(DESIGN, repeats=repeats), Aim(), [assumed_variances(DESIGN)]))
    assert longer[repeats] <= 3
    none = power_table(DESIGN, Aim(effect_points=1), [assumed_variances(DESIGN)])
    assert none.sights[0].needed == Needed(None, None)
    page = shown(power_view(none))
    assert "To see 1 points on these questions takes more than 1,000 repeats: more questions are needed." in page


def test_clusters_are_assumed_to_be_one_true_difference_each() -> None:
    alone, together = paired_design([""] * 60, 1, 1), paired_design([f"c{n // 6}" for n in range(60)], 1, 1)
    ten = paired_design([""] * 10, 1, 1)
    only_between = [
        points(power_table(design, Aim(), [assumed_variances(design, within=0)]))[1]
        for design in (alone, together, ten)
    ]
    assert only_between[1] == pytest.approx(only_between[2])
    assert only_between[0] < only_between[1]
    only_within = [
        points(power_table(design, Aim(), [assumed_variances(design, between=0)]))[1] for design in (alone, together)
    ]
    assert only_within[0] == pytest.approx(only_within[1]), "chance is every trial's own"


def test_variances_of_an_earlier_run() -> None:
    """Gains of 0 and .4 by halves: .04 between; .25 within the baseline, .25 and .09 within the condition."""
    (estimate,), left_out = measured_variances(observed(40), "none")
    found = estimate.variances
    assert left_out == []
    assert (found.model, found.baseline, found.condition) == ("gpt-x", "none", "python")
    assert found.between == pytest.approx(0.04, rel=0.2)
    assert found.within == pytest.approx((0.25 + 0.17) / 2, rel=0.03)
    assert found.between_ci95 is not None
    assert found.between_ci95[0] < 0.04 < found.between_ci95[1]
    (estimate,), _ = measured_variances(observed(40, cluster=4), "none")
    clustered = estimate.variances
    assert clustered.measured is not None
    assert clustered.measured.clusters == 30
    assert clustered.between == pytest.approx(4 * 0.04, rel=0.2)


def test_trials_that_do_not_count_tell_nothing() -> None:
    rows = observed(3)
    spoiled = [replace(row, repeat=9, outcome="failed", value=1.0) for row in rows[::5]]
    unscored = [replace(row, repeat=10, value=None) for row in rows[::3]]
    (both,), _ = measured_variances([*rows, *spoiled, *unscored], "none")
    (alone,), _ = measured_variances(rows, "none")
    assert both.variances == alone.variances


def test_an_earlier_run_without_repeats_bounds_what_could_be_seen() -> None:
    rows = observed(5)
    (one,), _ = measured_variances([row for row in rows if not row.repeat], "none")
    (known,), _ = measured_variances(rows, "none")
    table = power_table(DESIGN, Aim(effect_points=3), [one, known])
    for row, truth in zip(*(sight.rows for sight in table.sights), strict=True):
        least, most, ends = row.plain.least_points, row.plain.points, row.plain.ci95
        assert least is not None
        assert most is not None
        assert ends is not None
        assert truth.plain.points is not None
        assert least * 0.9 <= truth.plain.points <= most * 1.1
        assert ends[0] < least
        assert most < ends[1]
    first = table.sights[0].rows[0].plain
    assert first.least_points == pytest.approx(first.points)
    page = shown(power_view(power_table(DESIGN, Aim(effect_points=3), [one])), 140)
    assert "without repeats, nothing tells what of it is chance" in page
    assert "takes over 1,000 (" in page
    assert "up to" in page


def test_a_pilot_of_which_few_questions_have_repeats_parts_nothing_and_drops_none() -> None:
    rows = [row for row in observed(3) if not row.repeat or row.question in ("q0", "q1")]
    (found,), _ = measured_variances(rows, "none")
    assert found.variances.measured is not None
    assert (found.variances.measured.questions, found.variances.measured.repeated) == (120, 2)
    page = " ".join(shown(power_view(power_table(DESIGN, Aim(), [found])), 140).split())
    assert "with repeats of only 2 questions, nothing tells what of it is chance" in page


def test_a_small_pilot_says_how_little_it_tells() -> None:
    """20 questions with three repeats: what is seen to differ between them may all be chance."""
    small, large = (measured_variances(observed(3, count=count), "none")[0][0] for count in (20, 2_000))
    assert small.variances.between_ci95 is not None
    assert small.variances.between_ci95[0] == 0.0
    pages = [shown(power_view(power_table(DESIGN, Aim(effect_points=4), [each])), 200) for each in (small, large)]
    assert [f"below {FEW_CLUSTERS} it covers less" in page for page in pages] == [True, False]
    told = "between: the earlier run is too small to tell what differs between questions from chance: anything from 0"
    assert [told in page for page in pages] == [True, False]
    (low, high), (near, far) = (each.sights[0].rows[3].plain.ci95 or (0, 0) for each in
                                (power_table(DESIGN, Aim(), [each]) for each in (small, large)))  # fmt: skip
    assert far - near < (high - low) / 3
    assert f"{low:.1f} .. {high:.1f}" in pages[0]
    assert "(" in pages[0].split("on these questions takes")[1].split(" repeats")[0]


def test_a_component_that_came_out_below_0_is_said_to_be_the_one_between() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = [replace(row, value=float(rng.random() < 0.5)) for row in observed(3, count=30)]
        (found,), _ = measured_variances(rows, "none")
        if found.variances.measured is not None and found.variances.measured.cut:
            break
    assert "The estimate was negative and is set to 0." in shown(power_view(power_table(DESIGN, Aim(), [found])), 200)


@pytest.mark.parametrize(("count", "comparisons", "told"), [(5, 1, [False, False]), (6, 10, [True, False])])
def test_an_effect_that_no_test_of_so_few_questions_can_show_is_none(
    count: int, comparisons: int, told: list[bool]
) -> None:
    """5 questions give a p-value of .0625 at best, 6 one of .031."""
    design = paired_design([""] * count, 3, comparisons)
    (sight,) = (table := power_table(design, Aim(effect_points=50), [assumed_variances(design)])).sights
    levels = [level for row in sight.rows if row.repeats == 3 for level in (row.plain, row.corrected)]
    assert [level.points is not None for level in levels] == told
    assert [level.unknown for level in levels] == ["" if seen else "too few questions" for seen in told]
    assert [each is not None for each in (sight.needed, sight.corrected_needed)] == told
    assert table.smallest_p == pytest.approx(2 / 2**count)
    assert f"The smallest p-value that {count} independent clusters can give is" in shown(power_view(table), 200)
    # What it takes is at least what the test takes.
    assert levels[0].questions == 6
    assert levels[1].questions == (6 if comparisons == 1 else 9)


def test_an_effect_beyond_100_points_is_none() -> None:
    wide = paired_design([""] * 8, 1, 1)
    (row, *_) = power_table(wide, Aim(), [assumed_variances(wide, between=1.0)]).sights[0].rows
    assert (row.plain.points, row.plain.unknown) == (None, "too few questions")


def test_where_nothing_varied_nothing_is_told() -> None:
    (found,), _ = measured_variances([replace(row, value=1.0) for row in observed(3)], "none")
    table = power_table(DESIGN, Aim(effect_points=3), [found])
    assert points(table) == {}
    page = shown(power_view(table))
    assert "nothing varied in the earlier run" in page
    assert "To see 3 points" not in page


def tables() -> list[PowerTable]:
    clustered = paired_design([f"c{n // 9}" for n in range(99)], 4, 3)
    rows = observed(3, conditions=("python", EVIL, "retrieval-augmented-python"), cluster=2, simulated=True)
    measured, left_out = measured_variances([*rows, replace(rows[-1], condition="lonely")], "none")
    assert left_out == ["gpt-x lonely"]
    unparted, _ = measured_variances([row for row in rows if not row.repeat], "none")
    return [
        power_table(clustered, Aim(effect_points=2.5), [assumed_variances(clustered)]),
        power_table(clustered, Aim(effect_points=2.5), measured, left_out),
        power_table(DESIGN, Aim(0.9, 0.01), unparted),
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_figure_is_shown_at_every_width(width: int) -> None:
    for table in tables():
        page = shown(power_view(table), width)
        assert SAFE.fullmatch(page)
        assert max(map(cell_len, page.splitlines())) <= width
        for sight in table.sights:
            for row in sight.rows:
                if len(table.sights) == 1 or row.repeats == table.design.repeats:
                    assert f"{row.plain.points:.1f}" in page
                if len(table.sights) == 1 and row.plain.questions is not None:
                    assert f"{row.plain.questions:,}"[0] in page
        assert "(plan)" in page


def test_the_page_says_what_it_rests_on() -> None:
    assumed, measured, unparted = (shown(power_view(table), 200) for table in tables())
    assert "99 questions in 11 independent clusters, 4 repeats, 3 comparisons with the baseline" in assumed
    assert "Assumed variances: 0.02 between questions (x 9 for clusters), 0.075 within" in assumed
    assert "Assumed variances are a guess" in assumed
    assert "give --from STORE" in assumed
    assert "at level 0.05 (corrected: 0.05 / 3) finds with 80 % probability" in assumed
    assert f"Optimistic below {FEW_CLUSTERS} independent questions" in assumed
    assert "guess" not in measured
    assert measured.count("120 x 3") == 3
    assert "~" in measured
    assert "~: the earlier run is too small to tell what differs between questions from chance" in measured
    assert "Compared with none" in measured
    assert "SIMULATED" in measured
    assert "[red]x[/nonsense]" in measured
    assert "Too few questions, left out: gpt-x lonely" in measured
    assert "level 0.01 finds with 90 % probability" in unparted
    assert "corrected" not in unparted
    assert " .. " in unparted
    for page in (assumed, measured, unparted):
        assert page.strip().endswith("What each figure means: docs/statistics.md.")


def test_json_has_what_the_page_has() -> None:
    table = tables()[1]
    found = json.loads(power_json(table))
    assert found["design"]["clusters"] == 11
    assert [sight["variances"]["condition"] for sight in found["sights"]] == [
        sight.variances.condition for sight in table.sights
    ]
    rows = found["sights"][0]["rows"]
    assert [row["plain"]["points"] for row in rows] == [row.plain.points for row in table.sights[0].rows]


# `toolablate power`: what a plan's design can see, from assumed and from measured variances.


SIMULATED = """
conditions = ["none", "scaffold"]
repeats = {repeats}
store = "{store}"

[questions]
file = "builtin"

[[models]]
provider = "simulated"
playbook = "builtin"
name = "steady"
seed = 1
ability = 0.85
confidence = 3.0
"""


def questions(count: int, *, clusters: Sequence[str] = ()) -> list[dict[str, object]]:
    asked = [{"id": f"q{n}", "prompt": f"{n}?", "target": {"kind": "number", "value": n}} for n in range(count)]
    return [{**each, "cluster": cluster} for each, cluster in zip(asked, clusters or [""] * count, strict=True)]


def test_the_design_is_read_from_the_plan(write_plan: WritePlan) -> None:
    asked = questions(7, clusters=["a", "a", "a", "b", "b", "", ""])
    plan = write_plan({}, questions=asked, conditions='["none", "scaffold", "python"]', extra="repeats = 4")
    found = plan_design(load_plan(plan)[0])
    assert found == PairedDesign(questions=7, clusters=4, design_effect=15 / 7, repeats=4, comparisons=2)


def test_a_plan_of_one_condition_compares_nothing(write_plan: WritePlan) -> None:
    with pytest.raises(InputError, match="found one, 'none'; a comparison needs two"):
        plan_power(load_plan(write_plan({}, conditions='["none"]'))[0], Aim())


@pytest.mark.parametrize(
    ("aim", "assumed", "told"),
    [
        (Aim(alpha=0), Assumed(), "--alpha: found 0; allowed is between 0 and 1"),
        (Aim(alpha=math.nan), Assumed(), "--alpha: found nan"),
        (Aim(power=1), Assumed(), r"--power: found 1; allowed is between --alpha \(0.05\) and 1"),
        (Aim(power=0.01), Assumed(), "--power: found 0.01"),
        (Aim(effect_points=0), Assumed(), "--effect: found 0; allowed is from 0.01 to 100 points"),
        (Aim(effect_points=1e-300), Assumed(), "--effect: found 1e-300"),
        (Aim(effect_points=math.inf), Assumed(), "--effect: found inf"),
        (Aim(), Assumed(between=-0.1), "--between: found -0.1; allowed is from 0 to 1"),
        (Aim(), Assumed(within=0.3), "--within: found 0.3; allowed is from 0 to 0.25"),
        (Aim(), Assumed(0, 0), "found 0 for both"),
    ],
)
def test_figures_out_of_range_are_refused(write_plan: WritePlan, aim: Aim, assumed: Assumed, told: str) -> None:
    with pytest.raises(InputError, match=told):
        plan_power(load_plan(write_plan({}))[0], aim, assumed=assumed)


@pytest.mark.deep
def test_power_runs_nothing_and_needs_no_key(cli: Cli, tmp_path: Path) -> None:
    lines = (json.dumps(each) for each in questions(430))
    (tmp_path / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "conditions = ['none', 'python']\nrepeats = 3\n[questions]\nfile = 'questions.jsonl'\n"
        "[[models]]\nprovider = 'openai'\nname = 'm'\nendpoint = 'https://models.example/v1'\n",
        encoding="utf-8",
    )
    done = cli("power", plan, "--effect", "3", env={"PATH": "/usr/bin:/bin", "COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    assert "430 questions, 3 repeats, 1 comparison with the baseline" in done.stdout
    assert "3.6" in done.stdout
    assert "To see 3 points on these questions takes 6 repeats" in done.stdout
    assert not (tmp_path / "runs").exists()
    told = json.loads(cli("power", plan, "--between", "0", "--within", "0.1", "--json").stdout)
    assert told["sights"][0]["variances"]["within"] == 0.1
    refused = cli("power", plan, "--from", "nowhere.sqlite")
    assert refused.returncode == 2
    assert "There is no store at nowhere.sqlite" in refused.stderr
    both = cli("power", plan, "--from", "nowhere.sqlite", "--within", "0.1")
    assert (both.returncode, both.stdout) == (2, "")
    assert "--from goes with neither --between nor --within" in both.stderr


@pytest.mark.deep
def test_variances_come_from_an_earlier_store(cli: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(SIMULATED.format(repeats=3, store="earlier.sqlite"), encoding="utf-8")
    assert cli("run", plan).returncode == 0
    done = cli("power", plan, "--from", tmp_path / "earlier.sqlite", "--json")
    assert done.returncode == 0, done.stderr
    (sight,) = json.loads(done.stdout)["sights"]
    measured = sight["variances"]["measured"]
    assert (measured["questions"], measured["repeats"]) == (40, [3, 3])
    assert 0 < sight["variances"]["within"] <= 0.25
    page = cli("power", plan, "--from", tmp_path / "earlier.sqlite", env={"COLUMNS": "100"}).stdout
    assert "SIMULATED" in page
    assert "From 40 questions with 3 repeats: variance" in page


@pytest.mark.deep
def test_an_earlier_ladder_is_a_row_for_each_comparison_and_contrast(cli: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    content = SIMULATED.format(repeats=2, store="ladder.sqlite").replace(
        'file = "builtin"', 'file = "builtin"\nlimit = 8'
    )
    plan.write_text(content.replace('conditions = ["none", "scaffold"]', 'ladder = ["python"]'), encoding="utf-8")
    assert cli("run", plan).returncode == 0
    found = json.loads(cli("power", plan, "--from", tmp_path / "ladder.sqlite", "--json").stdout)
    told = [(sight["variances"]["contrast"], sight["variances"]["condition"]) for sight in found["sights"]]
    arms = ["scaffold", "python:offered", "python:sham", "python:placebo", "python"]
    assert told[:7] == [("", arm) for arm in (*arms, "python:oracle", "python:adversarial")]
    assert told[7:] == list(
        zip(["availability", "calling", "irrelevant content", "real content"], arms[1:], strict=True)
    )
    page = cli("power", plan, "--from", tmp_path / "ladder.sqlite", "--effect", "20", env={"COLUMNS": "120"}).stdout
    assert len(page.splitlines()) < 45
    assert "irrelevant content" in " ".join(page.split())


def test_conditions_of_a_module_beside_the_plan_are_found(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from toolablate.traces.records import Condition\nterse = Condition(name='terse', prompt='Be terse.')\n",
        encoding="utf-8",
    )
    plan = tmp_path / "plan.toml"
    content = SIMULATED.format(repeats=2, store="s.sqlite").replace('"scaffold"', '"mine:terse"')
    plan.write_text(content, encoding="utf-8")
    done = cli("power", plan)
    assert done.returncode == 0, done.stderr
