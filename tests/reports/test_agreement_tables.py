"""Agreement in a terminal."""

import json
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from tests.analysis.gradings import AGAIN, JUDGE, OTHER, RULE, Grade, graded, trial
from tests.traces.pages import SAFE, shown

from toolablate.analysis.agreement.gradings import Gradings, disagreements, scorer_pairs
from toolablate.analysis.agreement.report import AgreementReport, agreement_json, agreement_report, disagreements_json
from toolablate.reports.terminal.agreement import agreement_view, disagreements_table
from toolablate.traces.store.summaries import TrialSummary

EVIL = "judge[m\x1b]0;x\x07[bold]\u202e\n@1a2b3c4d]"


def made(judge: str = JUDGE, *, again: str = AGAIN, **changes: object) -> tuple[Gradings, AgreementReport]:
    """A judge that lets wrong answers pass where there is a tool, and is not always sure."""
    rows: list[tuple[TrialSummary, dict[str, Grade]]] = []
    for condition in ("none", "tool"):
        for n in range(60):
            right, kind = int(n % 3 > 0), int(n % 3 > 0 or (condition == "tool" and n % 2 > 0))
            seen = replace(trial(f"q{n}", condition), **changes)  # type: ignore[arg-type]
            grades: dict[str, Grade] = {RULE: right, judge: kind, again: kind if n % 10 else 1 - kind}
            rows.append((seen, grades | {OTHER: "unscored" if n == 1 else None if n == 2 else right}))
    rows.append((replace(trial("blank"), **changes), {RULE: "unparsed", judge: 0}))  # type: ignore[arg-type]
    found = graded(rows)
    answers = {seen.trial: "yes" for seen, _ in rows}
    return found, agreement_report(found, scorer_pairs(found), "none", answers=answers, order=["none", "tool"])


@pytest.mark.deep
@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 140, 200])
def test_what_scorers_say_of_each_other_fits_its_terminal(width: int) -> None:
    found, report = made(simulated=True)
    page = shown(agreement_view(report), width)
    assert max(map(cell_len, page.splitlines())) <= width
    flat = re.sub(r"\s", "", page)
    for row in report.agreements:
        assert f"{row.agreement:.1f}" in page
        assert f"{row.kappa:.2f}" in page
    for told in (RULE, JUDGE, AGAIN, OTHER, "SIMULATED", "gradedagain", "sametext", "Aconfound", "notseenby2"):
        assert told in flat, told
    assert "docs/statistics.md" in flat
    listed = disagreements(found, [(RULE, JUDGE)])
    page = shown(disagreements_table(listed), width)
    assert max(map(cell_len, page.splitlines())) <= width
    assert page.count("correct") == page.count("wrong") == len(listed) == 10


def test_every_figure_has_its_place_where_there_is_room() -> None:
    _, report = made()
    page = shown(agreement_view(report), 200)
    lines = [re.split(r"\s{2,}", line.strip()) for line in page.splitlines()]
    total = report.agreements[0]
    assert lines[4][:5] == [
        *("(all)", str(total.trials), f"{total.agreement:.1f}"),
        f"{total.agreement_ci95[0]:.1f} .. {total.agreement_ci95[1]:.1f}",
        f"{total.kappa:.2f}",
    ]
    shift = next(row for row in report.shifts if row.second == JUDGE)
    assert f"{shift.differential_points:.1f} points more than 1 does (gpt-x, p" in " ".join(page.split())
    assert "the judge errs otherwise under tool than under none" in " ".join(page.split())
    assert "beside none 2 gives tool" in " ".join(page.split())
    assert "what it does depends on whom one asks" in " ".join(page.split())
    again, same = report.regraded[:2]
    assert ["graded again", f"*{again.answers}", str(again.questions)] in [line[1:4] for line in lines]
    assert same.way == "same_text"
    assert "Not shown" not in page


def test_what_a_judges_noise_does_is_a_table_for_each_judge_in_a_terminal_of_usual_width() -> None:
    _, report = made(model="deepseek/deepseek-v3.2-thinking")
    lines = shown(agreement_view(report), 80).partition("What that alone does")[2].splitlines()
    assert [line.strip() for line in lines if "judge[" in line] == [f"{JUDGE}  graded again", f"{OTHER}  same text"]
    assert sum(line.split()[-3:] == ["MDE", "judge", "alone"] for line in lines) == 2


def test_stand_ins_are_named_where_other_models_stand_beside_them() -> None:
    rows = [
        (replace(trial(f"q{n}", model=model), simulated=model == "fake"), {RULE: n % 2, JUDGE: n % 3 > 0})
        for model in ("fake", "real")
        for n in range(50)
    ]
    found = graded(rows)
    report = agreement_report(found, [(RULE, JUDGE)], "none", answers={})
    for view in (agreement_view(report), disagreements_table(disagreements(found, [(RULE, JUDGE)]))):
        page = shown(view)
        assert "Simulated: fake: stand-ins" in page
        assert " SIMULATED " not in page


def test_equal_answers_that_never_differ_may_share_a_recorded_reply() -> None:
    rows = [(trial(f"q{n}", "none", repeat), {JUDGE: n % 2, OTHER: n % 2}) for n in range(50) for repeat in (0, 1)]
    found = graded(rows)
    report = agreement_report(found, [(JUDGE, OTHER)], "none", answers={seen.trial: "yes" for seen, _ in rows})
    assert {(row.way, row.differing) for row in report.regraded} == {("same_text", 0)}
    assert "equal answers share one recorded judge reply" in " ".join(shown(agreement_view(report)).split())


def test_what_is_undefined_is_a_dash() -> None:
    rows = [(trial(f"q{n}"), {RULE: 1, JUDGE: 1}) for n in range(50)]
    found = graded(rows)
    report = agreement_report(found, [(RULE, JUDGE)], "none", answers={})
    page = shown(agreement_view(report), 120)
    (line,) = [line for line in page.splitlines() if "gpt-x" in line and "100.0" in line]
    assert line.split()[:7] == ["gpt-x", "none", "*50", "100.0", "-", "-", "-"]
    assert "do not rely on their intervals" in " ".join(page.split())
    assert json.loads(agreement_json(report))["agreements"][0]["kappa"] is None
    assert "No trial on which two scorers differ" in shown(disagreements_table([]))
    assert json.loads(disagreements_json([])) == {"disagreements": []}


def test_names_do_nothing_to_a_terminal() -> None:
    found, report = made(EVIL, again=EVIL.replace("]", ",again=1]"), model="m\x1b[2J", condition="\u202ec")
    for width in (20, 80, 200):
        assert SAFE.fullmatch(shown(agreement_view(report), width))
        assert SAFE.fullmatch(shown(disagreements_table(disagreements(found, [(RULE, EVIL)])), width))
