import asyncio
import statistics
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.viewer.index import naive
from tests.viewer.index.stores import CONDITIONS, LONG_NAME, MODELS, Made, label, make, refreshed, summaries

from toolablate.analysis.selection import Ending, Selection, Turn
from toolablate.traces.store import Store
from toolablate.viewer.index import QuestionRow, Sort, ViewerIndex
from toolablate.viewer.index.reading import level, natural


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return asyncio.run(make(tmp_path_factory.mktemp("store") / "s.db"))


@pytest.fixture(scope="module")
def index(made: Made, tmp_path_factory: pytest.TempPathFactory) -> ViewerIndex:
    index = refreshed(ViewerIndex.open(tmp_path_factory.mktemp("index") / "i.db"), made.path)
    index.put_attributions(made.attributions)
    return index


def _some(*values: str):
    return st.lists(st.sampled_from(values), unique=True, max_size=2).map(tuple)


_SELECTIONS = st.builds(
    Selection,
    models=_some(*(model.name for model in MODELS), "another"),
    conditions=_some(*(condition.name for condition in CONDITIONS), "another"),
    domains=_some("physics", "law", ""),
    difficulties=_some("hard", "easy", ""),
    endings=_some(*get_args(Ending)),
    flips=_some(*get_args(Turn)),
    mechanisms=_some("sampling_noise", "budget"),
    labels=_some("sampling_noise", "lock_in"),
    unlabelled=st.sampled_from(["", "", "", "Ann", "Bo", "nobody's"]),
    tools=_some("python", "web_search", LONG_NAME, "pyth"),
    text=st.sampled_from(
        [
            "",
            "",
            "",
            "%",
            "_",
            "_b",
            "q",
            "Q1",
            "細",
            "細胞",
            "strasse",
            "STRASSE",
            "É",
            "οδος",
            "nö",
            "\x00",
            "'",
            "why? w",
        ]
    ),
)


@pytest.mark.deep
@given(selection=_SELECTIONS, baseline=st.just("none"))
@settings(max_examples=300, deadline=None)
def test_a_selection_means_what_it_says(made: Made, index: ViewerIndex, selection: Selection, baseline: str) -> None:
    """By the questions of its trials, and by walking from one trial to the next."""
    wanted = naive.selected(made, selection, baseline)
    of_question = {each.trial: each.question for each in summaries(made.path)}
    page = index.questions(selection, size=1000)
    assert {row.name for row in page.rows} == {of_question[trial] for trial in wanted}
    assert (page.total, page.trials) == (len(page.rows), len(wanted))
    walked = _walk(index, selection, page.rows[0].question) if page.rows else []
    assert len(walked) == len(set(walked))
    assert set(walked) == wanted


def test_a_question_is_found_by_its_id_and_by_that_of_a_trial(made: Made, index: ViewerIndex) -> None:
    some = summaries(made.path)[3]
    (row,) = [row for row in index.questions(Selection(), size=1000).rows if row.name == some.question]
    named = index.questions(Selection(text=row.name.upper()), size=1000).rows
    assert row.question in {each.question for each in named}
    for text in (row.question, some.trial, some.trial[:10], f" {some.trial[:8].upper()} "):
        (found,) = index.questions(Selection(text=text)).rows
        assert found.question == row.question
    assert index.questions(Selection(text=some.trial[:7])).total == 0, "too short for an id"


@pytest.mark.deep
@given(selection=_SELECTIONS)
@settings(max_examples=60, deadline=None)
def test_a_filter_counts_the_questions_that_each_value_would_show(index: ViewerIndex, selection: Selection) -> None:
    counted, facets = index.counts(selection), index.facets()
    for field, numbers in counted.items():
        assert set(numbers) <= {*getattr(facets, field), ""}
        for value in getattr(facets, field):
            with_it = index.questions(replace(selection, **{field: (value,)}), size=1).total
            assert numbers.get(value, 0) == with_it, (field, value)


def test_who_labels_goes_on_from_a_trial_that_is_labelled_meanwhile(made: Made, tmp_path: Path) -> None:
    index = refreshed(ViewerIndex.open(tmp_path / "i.db"), made.path)
    selection = Selection(unlabelled="Cy")
    left = _walk(index, selection, index.questions(selection).rows[0].question)
    assert index.first(selection) == left[0]
    for number, trial in enumerate(left):
        assert index.questions(selection).trials == len(left) - number
        index.put_label(label(trial, "sampling_noise", "Cy"))
        assert index.neighbours(trial, selection) == (None, left[number + 1] if trial != left[-1] else None)
    assert index.first(selection) is None
    index.put_label(label(left[3], None, "Cy"))
    assert index.first(selection) == left[3], "what was withdrawn is to be labelled again"
    assert index.neighbours(left[1], selection) == (None, left[3])
    assert index.neighbours(left[-1], selection) == (left[3], None)


def test_before_anything_is_attributed_all_failures_but_of_the_baseline_are_to_be_labelled(
    made: Made, index: ViewerIndex, tmp_path: Path
) -> None:
    early = refreshed(ViewerIndex.open(tmp_path / "i.db"), made.path)
    selection = Selection(unlabelled="Cy")
    failures = naive.selected(replace(made, attributions=()), selection, "none")
    attributed = naive.selected(made, selection, "none")
    assert (early.questions(selection).trials, index.questions(selection).trials) == (len(failures), len(attributed))
    assert failures != attributed != set()


def test_trials_that_fit_are_those_selected(index: ViewerIndex) -> None:
    selection = Selection(endings=("wrong",), conditions=("python",))
    for row in index.questions(Selection()).rows:
        trials = [trial for glance in row.glances for trial in glance.trials]
        wanted = {each.trial for each in trials if each.ending == "wrong" and each.condition == "python"}
        assert index.fitting([row.question], selection) == wanted
    assert index.fitting(["no such"], selection) == frozenset()


@pytest.mark.parametrize("sort", get_args(Sort))
@pytest.mark.parametrize("descending", [False, True])
def test_pages_are_slices_of_one_order(index: ViewerIndex, sort: Sort, descending: bool) -> None:
    whole = index.questions(Selection(), sort=sort, descending=descending, size=1000)
    pages = [index.questions(Selection(), sort=sort, descending=descending, size=2, page=page) for page in range(1, 6)]
    assert [row.name for page in pages for row in page.rows] == [row.name for row in whole.rows]
    assert {(page.total, page.pages) for page in pages} == {(9, 5)}


def test_a_page_beyond_the_last_is_the_last(index: ViewerIndex) -> None:
    beyond, none = index.questions(Selection(), page=99, size=4), index.questions(Selection(models=("none",)), page=3)
    assert (beyond.page, beyond.pages, len(beyond.rows)) == (3, 3, 1)
    assert (none.page, none.pages, none.total, none.rows) == (1, 1, 0, ())
    assert index.questions(Selection(), page=-1, size=4).page == 1


def test_questions_come_in_the_order_asked_for(index: ViewerIndex) -> None:
    def names(sort: Sort, descending: bool = False) -> list[str]:
        return [row.name for row in index.questions(Selection(), sort=sort, descending=descending).rows]

    def said(sort: Sort, descending: bool = False) -> list[str]:
        rows = index.questions(Selection(), sort=sort, descending=descending).rows
        return [getattr(row, sort) for row in rows]

    assert names("order") == [f"q{number}" for number in range(9)]
    assert names("name", descending=True) == [f"q{number}" for number in reversed(range(9))]
    assert said("difficulty") == ["easy"] * 2 + ["medium"] * 2 + ["hard"] * 3 + [""] * 2
    assert said("difficulty", descending=True) == ["hard"] * 3 + ["medium"] * 2 + ["easy"] * 2 + [""] * 2
    assert said("domain") == ["law"] * 3 + ["physics"] * 3 + [""] * 3


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("sort", ["delta", "score", "spread", "tokens", "cost"])
def test_figures_sort_by_what_the_rows_show(index: ViewerIndex, sort: Sort, descending: bool) -> None:
    """Those of which nothing is known are last either way."""
    rows = index.questions(Selection(), sort=sort, descending=descending).rows
    values = [_figure(row, sort) for row in rows]
    known = [value for value in values if value is not None]
    assert known
    assert values == pytest.approx([*sorted(known, reverse=descending), *[None] * (len(values) - len(known))])


def _figure(row: QuestionRow, sort: Sort) -> float | None:
    trials = [trial for glance in row.glances for trial in glance.trials]
    scores = {(glance.model, glance.condition): glance.score for glance in row.glances}
    values = [trial.value for trial in trials if trial.outcome != "failed" and trial.value is not None]
    pairs = [(score, scores.get((model, "none"))) for (model, name), score in scores.items() if name != "none"]
    found = {
        "delta": [min((after - before for after, before in pairs if None not in (after, before)), default=None)],
        "score": values,
        "spread": [statistics.pstdev(values)] if values else [],
        "tokens": [trial.tokens for trial in trials if trial.tokens is not None],
        "cost": [trial.cost_usd for trial in trials if trial.cost_usd is not None],
    }[sort]
    return None if not found or found == [None] else statistics.fmean(found)


@pytest.mark.parametrize("sort", ["delta", "score", "spread", "tokens", "cost"])
@pytest.mark.parametrize(
    "arms",
    [
        {"models": (MODELS[1].name,)},
        {"conditions": ("python",)},
        {"models": (MODELS[0].name,), "conditions": ("search",)},
    ],
)
def test_figures_sort_by_the_arms_that_are_shown(
    index: ViewerIndex, sort: Sort, arms: dict[str, tuple[str, ...]]
) -> None:
    """Those chosen, and the baseline."""
    rows = index.questions(Selection(**arms), sort=sort, descending=True).rows
    models, conditions = arms.get("models"), arms.get("conditions")

    def shown(row: QuestionRow) -> QuestionRow:
        kept = (each for each in row.glances if not models or each.model in models)
        kept = (each for each in kept if not conditions or each.condition in {"none", *conditions})
        return replace(row, glances=tuple(kept))

    values = [_figure(shown(row), sort) for row in rows]
    known = [value for value in values if value is not None]
    assert values == pytest.approx([*sorted(known, reverse=True), *[None] * (len(values) - len(known))])
    assert values != pytest.approx([_figure(row, sort) for row in rows])
    before, after = index.neighbours(rows[1].glances[0].trials[0].trial, Selection(**arms), sort=sort, descending=True)
    assert {index.trial(each).question for each in (before, after) if each} <= {row.question for row in rows[:3]}


def test_names_sort_as_people_count() -> None:
    names = ["q10", "q2", "Q1", "q", "é", "10", "9", "x" + "9" * 40, "x8"]
    assert sorted(names, key=natural) == ["9", "10", "q", "Q1", "q2", "q10", "x8", "x" + "9" * 40, "é"]
    levels = ["", "odd", "Level 10", "level 9", "expert", "Easy", "hard", "medium"]
    assert sorted(levels, key=level) == ["Easy", "medium", "hard", "expert", "level 9", "Level 10", "odd", ""]


@pytest.mark.deep
def test_facets_count_what_can_be_selected(made: Made, index: ViewerIndex) -> None:
    facets = index.facets()
    for field, counted in (
        *(("models", facets.models), ("conditions", facets.conditions), ("endings", facets.endings)),
        *(("flips", facets.flips), ("mechanisms", facets.mechanisms), ("labels", facets.labels)),
        ("tools", facets.tools),
    ):
        assert counted
        for value, number in counted.items():
            assert number == len(naive.selected(made, Selection(**{field: (value,)}), "none")), (field, value)
    for field, counted in (("domains", facets.domains), ("difficulties", facets.difficulties)):
        for value, number in counted.items():
            assert number == index.questions(Selection(**{field: (value,)})).total
    assert list(facets.difficulties) == ["easy", "medium", "hard", ""]
    assert list(facets.conditions) == ["none", "python", "search"]
    assert (facets.baseline, facets.simulated) == ("none", {"sim"})


@pytest.mark.deep
def test_a_row_says_what_the_store_says(made: Made, index: ViewerIndex) -> None:
    seen = {each.trial: each for each in summaries(made.path)}
    with Store(made.path) as store:
        traces = {trace.trial.id: trace for trace in store.traces()}
    rows = index.questions(Selection(), size=1000).rows
    glances = [(row, glance) for row in rows for glance in row.glances]
    trials = [(row, glance, trial) for row, glance in glances for trial in glance.trials]
    assert {trial.trial for _, _, trial in trials} == set(seen)
    for row, glance, trial in trials:
        each, trace = seen[trial.trial], traces[trial.trial]
        assert (trial.model, trial.condition) == (glance.model, glance.condition) == (each.model, each.condition)
        assert (row.name, row.domain, trial.question) == (each.question, each.domain, row.question)
        assert (trial.value, trial.verdict, trial.tokens) == (each.value, each.verdict, each.tokens)
        assert (trial.outcome, trial.seconds, trial.repeat) == (trace.outcome, trace.seconds, each.repeat)
        assert (set(trial.tools), trial.calls) == (
            naive.called(trace),
            sum(event.kind == "tool_call" for event in trace.events),
        )
        assert index.trial(trial.trial[:12]) == trial
    assert [index.question(row.question) for row in rows] == list(rows)
    assert {arm.ended for arm in index.arms()} == {
        sum(each.model == model.name and each.condition == condition.name for each in seen.values())
        for model in MODELS
        for condition in CONDITIONS
    }
    assert {arm.planned for arm in index.arms()} == {18}


def _walk(index: ViewerIndex, selection: Selection, question: str) -> list[str]:
    """From the first selected trial of a question to the last one of all."""
    first = index.question(question).glances[0].trials[0].trial
    before, after = index.neighbours(first, selection)
    assert before is None
    found: list[str] = []
    # The first of the question's trials may itself not be selected.
    if after is None or index.neighbours(after, selection)[0] == first:
        found.append(first)
    while after is not None:
        found.append(after)
        after = index.neighbours(after, selection)[1]
    places = [index.place(trial, selection) for trial in found]
    assert places == [(number, len(found)) for number in range(1, len(found) + 1)]
    return found
