"""Waterfalls in a terminal and in files."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.cells import cell_len
from tests.analysis.ladder_arms import REAL, changed, graded, ladder_conditions
from tests.traces.pages import SAFE, shown

from toolablate.analysis.arms import ladders
from toolablate.analysis.effect import FEW_CLUSTERS, FEW_DIFFERING
from toolablate.analysis.ladder import Waterfall, waterfalls
from toolablate.reports.plots.drawing import require_plots
from toolablate.reports.plots.waterfall import draw_waterfalls, limits
from toolablate.reports.terminal.waterfall import waterfalls_view
from toolablate.reports.waterfall_bars import ladder_bars
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.traces.records import ToolUse
from toolablate.traces.store.summaries import TrialSummary

CONDITIONS = ladder_conditions(shapley=True)
CHANCES = dict(zip(CONDITIONS, [0.55, 0.57, 0.5, 0.5, 0.3, 0.65, 0.9, 0.2, 0.5, 0.45, 0.42, 0.6], strict=True))
SEARCH = ladder_conditions(changed(REAL, name="search", tools=(ToolUse(name="search"),)))
EVIL = "m\x1b]0;x\x07[bold]\u202e$_a^b$ <&> /../x"


def seen(*, model: str = "gpt-x", without: str = "nothing", **changes: object) -> list[TrialSummary]:
    kept = {label: [chance] * 150 for label, chance in CHANCES.items() if without not in label}
    return [replace(each, **changes) for each in graded(kept, 1, model=model)]


def made(summaries: list[TrialSummary], conditions: dict[str, object] | None = None) -> list[Waterfall]:
    return waterfalls(summaries, ladders(conditions or CONDITIONS), resamples=300)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 140, 200])
@pytest.mark.parametrize("without", ["nothing", "unprompted", "offered"])
def test_a_waterfall_fits_its_terminal_and_names_every_contrast(width: int, without: str) -> None:
    (found,) = made(seen(without=without))
    page = shown(waterfalls_view([found]), width)
    assert max(map(cell_len, page.splitlines())) <= width
    flat = re.sub(r"\s", "", page)
    for step in (*found.contrasts, found.total, *found.bounds):
        assert re.sub(r"\s", "", step.name)[:10] in flat, step.name
        assert f"{abs(step.points or 0):.1f}" in page
    assert "SIMULATED" not in page


def bars(page: str) -> dict[str, tuple[int, int]]:
    """Where each row's bar begins and ends, in cells."""
    found = {}
    for line in page.splitlines():
        if (bar := re.search("[█▒│]+", line)) and "gain" not in line:
            found[re.split(r"\s{2,}", line.strip())[0]] = bar.span()
    return found


@pytest.mark.deep
def test_each_bar_begins_where_the_last_one_ended() -> None:
    (found,) = made(seen())
    page = shown(waterfalls_view([found]), 160)
    drawn = bars(page)
    assert list(drawn) == ["none", *(contrast.name for contrast in found.contrasts), "total"]
    at = drawn["none"][0]
    for contrast in found.contrasts:
        left, right = drawn[contrast.name]
        start, end = (left, right - 1) if (contrast.points or 0) > 0 else (right - 1, left)
        assert start == at, contrast.name
        at = end
    assert drawn["total"] == (min(drawn["none"][0], at), max(drawn["none"][0], at) + 1)
    lines = {name: next(line for line in page.splitlines() if line.strip().startswith(name)) for name in drawn}
    assert "█" in lines["real content"]
    assert "▒" in lines["irrelevant content"]


def test_what_does_not_count_and_what_is_missing_is_told() -> None:
    rows = [
        replace(each, value=None) if each.condition == "python" and each.question < "q0002" else each
        for each in seen(without="offered", cluster="")
    ]
    rows = [replace(each, cluster=each.question[:4]) for each in rows]
    (found,) = made([each for each in rows if each.condition != "python:oracle" or each.question > "q0009"])
    page = shown(waterfalls_view([found]), 140)
    for told in (
        "gpt-x  ladder of python  over 148 questions",
        "2 questions are left out",
        "use 15 clusters",
        "Not run, so the adjacent contrasts are merged: offered.",
        "The bound oracle is over 140 questions.",
        "Bounds start at python:placebo",
        "The order of contrasts is a convention",
        'ladder = ["python"] in a plan adds the missing arms.',
        "corrected for the 7 comparisons in these ladders",
    ):
        assert told in page, told
    low, high = found.relative_ci95 or (0, 0)
    assert found.total.small
    assert f"{found.relative:+.1f} % (*{low:+.1f} .. {high:+.1f})".replace("-", "−") in page


def test_what_could_be_seen_and_what_chance_flips_is_shown_where_there_is_room() -> None:
    rows = [replace(each, repeat=repeat) for repeat in (0, 1) for each in seen(model="gpt-x")]
    (found,) = made(rows)
    wide, narrow = (shown(waterfalls_view([found]), width) for width in (140, 80))
    for step in found.steps:
        assert f"{step.detectable_points:.1f}" in wide
        assert f"{step.detectable_points:.1f}" in narrow
        flips = f"{step.flips_right_to_wrong:.1f} / {step.flips_wrong_to_right:.1f} ({step.noise_flips:.1f})"
        assert flips in wide
    assert "flips: right to wrong" in wide
    assert "flips" not in narrow
    (single,) = made(seen())
    assert "flips" not in shown(waterfalls_view([single]), 140)


def test_footnotes_are_six_lines_however_many_waterfalls() -> None:
    few = [each for model in ("a", "b", "c") for each in seen(model=model, without="sham") if each.question < "q0030"]
    page = shown(waterfalls_view(made(few)), 100)
    last = page[page.rindex("█ gain") :].rstrip().splitlines()
    assert len(last) <= 6
    assert last[-1].strip() == "What each figure means: docs/statistics.md."


def test_steps_of_few_questions_are_marked_and_not_coloured() -> None:
    many = made(seen())
    few = made([each for each in seen() if each.question < "q0030"])
    assert [any(step.small for step in (*each.contrasts, each.total)) for (each,) in (many, few)] == [False, True]
    assert f"fewer than {FEW_CLUSTERS} independent questions" not in shown(waterfalls_view(many))
    page = shown(waterfalls_view(few), 120)
    # Eight steps, five Shapley values, five times how far these are from the contrast, and the footnote.
    assert page.count(" *") == 8 + 5 + 5 + 1
    assert page.count("(*") == 1
    assert f"*: fewer than {FEW_CLUSTERS} independent questions, or {FEW_DIFFERING} that differ" in page
    (same,) = made([replace(each, value=1.0) for each in seen()])
    assert (same.total.small, same.total.ci95) == (True, None)


def test_shapley_values_are_shown_where_they_can_be_and_else_how_to_get_them() -> None:
    (found,) = made(seen())
    page = shown(waterfalls_view([found]), 100)
    assert found.shapley is not None
    named = ", ".join(f"{each.name} ({each.moved:+.1f})" for each in found.shapley.values if each.order_matters)
    assert named
    assert f"Depends on the order of contrasts: {named}.".replace("-", "−") in " ".join(page.split())
    assert "shapley = true" not in page
    # Where the prompt does nothing its place does nothing either, and what chance moves is not told as a finding.
    flat = {label: [0.5] * 150 for label in CHANCES}
    (level,) = made(list(graded(flat, 1)))
    assert level.shapley is not None
    assert any(abs(each.moved) > 1 for each in level.shapley.values)
    assert "No contrast is shown to depend on the order." in shown(waterfalls_view([level]), 100)
    told = shown(waterfalls_view(made(seen(without="unprompted"))), 100)
    assert told.count('ladder = [{ name = "python", shapley = true }] in a plan adds Shapley values.') == 1
    assert "Shapley values over" not in told


def test_an_arm_without_scores_leaves_no_figures_and_says_so(tmp_path: Path) -> None:
    rows = [replace(each, value=None) if each.condition == "python:sham" else each for each in seen()]
    found = made(rows)
    page = " ".join(shown(waterfalls_view(found)).split())
    assert "No question is scored in all of its arms yet. No trial is scored under python:sham." in page
    draw_waterfalls(found, tmp_path / "empty.svg")
    assert "No question is scored" in (tmp_path / "empty.svg").read_text(encoding="utf-8")


def test_names_are_inert_and_simulated_models_are_announced(tmp_path: Path) -> None:
    evil = {label.replace("python", EVIL): each for label, each in CONDITIONS.items()}
    rows = [
        replace(each, condition=each.condition.replace("python", EVIL)) for each in seen(model=EVIL, simulated=True)
    ]
    found = made(rows, evil)
    page = shown(waterfalls_view(found))
    assert SAFE.fullmatch(page)
    assert "SIMULATED" in page.splitlines()[1]
    draw_waterfalls(found, tmp_path / "evil.svg")
    told = "".join(ElementTree.parse(tmp_path / "evil.svg").getroot().itertext())
    assert "[bold]\ufffd$_a^b$ <&> /../x" in told
    assert "SIMULATED" in told
    assert [path.name for path in tmp_path.iterdir()] == ["evil.svg"]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("suffix", "magic"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("PNG", b"\x89PNG")]
)
def test_figures_of_several_ladders_and_models_are_the_same_each_time(
    tmp_path: Path, suffix: str, magic: bytes
) -> None:
    chances = CHANCES | {label: 0.5 for label in SEARCH if label not in CHANCES}
    rows = [
        each
        for model in ("a", "b")
        for each in graded({label: [chance] * 40 for label, chance in chances.items()}, 1, model=model)
    ]
    found = made(rows, ladder_conditions() | SEARCH)
    assert len(found) == 4
    for name in ("one", "two"):
        draw_waterfalls(found, tmp_path / f"{name}.{suffix}")
    one, two = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("one", "two"))
    assert one.startswith(magic)
    assert one == two


def test_a_figure_says_what_the_table_says(tmp_path: Path) -> None:
    (found,) = made(seen())
    draw_waterfalls([found], tmp_path / "one.svg")
    texts = [
        each.text for each in ElementTree.parse(tmp_path / "one.svg").getroot().iter() if each.tag.endswith("}text")
    ]
    for step in found.steps:
        assert any((text or "").startswith(f"{step.points:+.1f} (".replace("-", "−")) for text in texts), step.name
        assert any(step.name in (text or "") for text in texts)


@pytest.mark.parametrize("name", ["figure.gif", "figure", "figure.svg.txt"])
def test_other_kinds_of_files_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"Allowed: \.svg, \.png, \.pdf"):
        require_plots(tmp_path / name)


def test_bounds_begin_where_the_contrast_beside_them_does_and_are_within_the_picture(tmp_path: Path) -> None:
    """Also where a bound rests on fewer questions than the contrasts, of which the arm below was right on others."""
    (found,) = made([each for each in seen() if each.condition != "python:oracle" or each.question < "q0030"])
    oracle = found.bounds[0]
    assert oracle.questions == 30
    assert oracle.before_score != found.contrasts[-1].before_score
    drawn = ladder_bars(found)
    low, high = limits([drawn])
    start = next(bar.start for bar in drawn.bars if bar.name == "bound: oracle")
    assert start == (found.contrasts[-1].before_score or 0) - (found.total.before_score or 0)
    assert oracle.points is not None
    assert low < start < start + oracle.points < high


def test_long_names_of_contrasts_are_on_several_lines(tmp_path: Path) -> None:
    (found,) = made([each for each in seen() if each.condition.split(":")[-1] not in ("offered", "sham")])
    draw_waterfalls([found], tmp_path / "long.svg")
    told = "".join(ElementTree.parse(tmp_path / "long.svg").getroot().itertext())
    assert "availability + calling +" in told
    assert "irrelevant content" in told
    assert "availability + calling + irrelevant content" not in told


def test_no_ladder_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no ladder to draw"):
        draw_waterfalls([], tmp_path / "none.svg")


def test_a_figure_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        draw_waterfalls(made(seen()), tmp_path / "nowhere" / "figure.svg")


def test_without_matplotlib_it_is_said_what_to_install() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from pathlib import Path\n"
        "from toolablate.reports.plots.drawing import require_plots\n"
        "try: require_plots(Path('x.svg'))\n"
        "except Exception as error: print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert to_install("plots") in told.stdout, told.stderr
