"""What the published tables hold: every finding, pinned."""

import re
from pathlib import Path

import pytest
from examples.published_tables.audit import TableAudit, audit
from examples.published_tables.files import PUBLISHED, load_published
from examples.published_tables.tables import Finding

SEEDS = Path(__file__).parents[4] / "shared" / "seeds"
TEXTS = {
    "encyclo_k": "encyclo_k.txt",
    "lpfqa_v1": "lpfqa_v1_2025-11.txt",
    "lpfqa_v2": "lpfqa_v2_2026-01.txt",
}
GAPS, SCORES = "text", "text, scores"


def audited(paper: str) -> dict[str, TableAudit]:
    return {one.table.name: one for one in audit(load_published(PUBLISHED[paper])).tables}


def told(one: TableAudit, level: str) -> list[tuple[str, str, str]]:
    return [(finding.kind, finding.row, finding.column) for finding in one.findings if finding.level == level]


def finding(one: TableAudit, row: str, column: str = "", kind: str = "") -> Finding:
    (found,) = [each for each in one.findings if (each.row, each.column) == (row, column) and kind in ("", each.kind)]
    return found


def test_all_that_is_wrong_in_the_first_lpfqa() -> None:
    tables = audited("lpfqa_v1")
    assert {name: told(one, "wrong") for name, one in tables.items()} == {
        "1": [],
        "2": [],
        "3": [("units", "Average", ""), ("average", "Average", "Jupyter CI"), ("delta", "o3-high", "Jupyter CI Δ")],
    }
    third = tables["3"]
    average = finding(third, "Average", "Jupyter CI").text
    assert average == "printed 36.15; the mean of the 10 rows is 36.34. 36.15 is the average printed for All three."
    units = finding(third, "Average").text
    assert units.startswith("deltas here are relative, those of the rows above are points.")
    assert "Jupyter CI Δ 7.75%↓, −2.85; Search Δ 10.64%↓, −4.17; All three Δ 7.75%↓, −3.03" in units
    assert "39.18, the mean baseline of the 10 rows" in units
    assert finding(third, "o3-high", "Jupyter CI Δ").text.startswith(
        "printed 0.37%↓; from 43.03 to 42.76 it is −0.27 points, −0.63 %."
    )
    assert told(third, "remark") == [("percent_sign", "", ""), ("equal", "Qwen-3", "")]
    assert finding(third, "", "", "percent_sign").text.startswith("29 deltas are points and printed with a percent")
    assert finding(third, "Qwen-3").text.startswith("35.89 in Jupyter CI and in All three; by chance 0.09 such pairs")


def test_which_of_the_two_averages_of_changes_the_papers_print() -> None:
    """Both print the change of the averages, relative, whatever the changes above it are."""
    third, fourth = audited("lpfqa_v1")["3"], audited("lpfqa_v2")["4"]
    kind = "average_of"
    assert [each.column for each in third.findings if each.kind == kind] == ["Jupyter CI Δ", "Search Δ"]
    assert [each.column for each in fourth.findings if each.kind == kind] == ["Jupyter CI Δ", "Search Δ"]
    assert {each.level for one in (third, fourth) for each in one.findings if each.kind == kind} == {"fact"}
    assert finding(third, "Average", "Search Δ", kind).text == (
        "printed 10.64%↓, read as the change of the averages: −10.65 %; mean of the rows' changes: −10.52 %"
    )
    assert finding(fourth, "Average", "Jupyter CI Δ", kind).text == (
        "printed 28.76%↓, read as the change of the averages: −28.76 %; mean of the rows' changes: −28.44 %"
    )
    # The average of all tools lies between the two, within what rounding allows for both.
    open_ = third.cell("Average", "All three Δ")
    assert open_ is not None
    assert (set(open_.average_of), open_.text) == ({"change_of_averages", "mean_of_changes"}, "−7.74")


def test_all_other_changes_of_the_first_lpfqa_are_points() -> None:
    third = audited("lpfqa_v1")["3"]
    readings = [(cell.row, cell.column, cell.reading) for cell in third.recomputed if cell.reading]
    assert sum(reading == "points" for *_, reading in readings) == 29
    assert [(row, column) for row, column, reading in readings if reading == "neither"] == [("o3-high", "Jupyter CI Δ")]
    assert {row for row, _, reading in readings if reading == "relative"} == {"Average"}
    seed = third.cell("Seed-1.6", "All three Δ")
    assert seed is not None
    assert (seed.follows, seed.text) == (True, "−1.92")
    rounded = third.cell("DeepSeek-V3", "Search Δ")
    assert rounded is not None
    assert (rounded.printed, rounded.text, rounded.follows) == ("4.51%↓", "−4.52", True)


def test_all_that_is_wrong_in_the_second_lpfqa() -> None:
    tables = audited("lpfqa_v2")
    ci, search = "Jupyter CI Δ", "Search Δ"
    assert {name: told(one, "wrong") for name, one in tables.items()} == {
        "1": [("total", "Overall", "Multiple-choice"), ("total", "Overall", "Short-answer")],
        "2": [("average", "All Models Avg", "CS"), ("mean", "", "Overall")],
        "4": [
            ("delta", "Deepseek-V3.2-Thinking", ci),
            ("delta", "Deepseek-V3.2-Thinking", search),
            ("delta", "Gemini-2.5-Pro", ci),
            ("delta", "Gemini-2.5-Pro", search),
            ("delta", "GLM-4.6", search),
            ("delta", "GLM-4.6", ci),
            ("delta", "GPT-5-High", ci),
            ("delta", "GPT-5-High", search),
        ],
        "5": [("total", "Total", "Count")],
        "6": [],
        "7": [],
        "8": [],
        "9": [],
        "10": [("copy", "Qwen3-235B-Thinking", "LPFQA")],
    }
    first, second = tables["1"], tables["2"]
    assert finding(first, "Overall", "Multiple-choice").text == "printed 249; the 7 rows add up to 248"
    assert finding(first, "Overall", "Short-answer").text == "printed 181; the 7 rows add up to 182"
    assert finding(second, "All Models Avg", "CS").text.startswith("printed 41.26; the mean of the 11 rows is 43.10.")
    overall = finding(second, "", "Overall", "mean").text
    assert "weighted by 71, 61, 97, 43, 62, 38, 58 in 11 of 11 rows" in overall
    assert finding(tables["5"], "Total", "Count").text == "printed 209; the 10 rows add up to 212"
    assert "printed 47.6, there 46.85" in finding(tables["10"], "Qwen3-235B-Thinking", "LPFQA").text


def test_changes_with_tools_in_the_second_lpfqa() -> None:
    fourth = audited("lpfqa_v2")["4"]
    deepseek = finding(fourth, "Deepseek-V3.2-Thinking", "Jupyter CI Δ").text
    assert deepseek.startswith("printed 32.95%↓; from 49.53 to 31.78 it is −17.75 points, −35.84 %.")
    assert "a baseline of 47.40" in deepseek
    gemini = finding(fourth, "Gemini-2.5-Pro", "Jupyter CI Δ").text
    assert "−29.73 %. It would follow from a baseline of 47.90 (Kimi-K2-Thinking has 47.91)" in gemini
    assert "−36.02 %" in finding(fourth, "Gemini-2.5-Pro", "Search Δ").text
    # Baselines with their second decimal cut off.
    assert "−31.05 %. It would follow from a baseline of 50.40" in finding(fourth, "GLM-4.6", "Jupyter CI Δ").text
    assert "−18.23 %. It would follow from a baseline of 54.40" in finding(fourth, "GPT-5-High", "Jupyter CI Δ").text
    assert told(fourth, "remark") == [("equal", "Gemini-2.5-Pro", ""), ("equal", "Deepseek-V3.2-Thinking", "")]
    copied = finding(fourth, "Gemini-2.5-Pro", kind="equal").text
    assert copied.startswith("equal to Kimi-K2-Thinking's in all four cells (Jupyter CI 33.50, Jupyter CI Δ 30.06%↓,")
    assert finding(fourth, "Deepseek-V3.2-Thinking").text.startswith("31.78 in Jupyter CI and in Search")
    average = {cell.column: cell for cell in fourth.recomputed if cell.row == "Average"}
    assert {cell.follows for cell in average.values()} == {True}
    assert {average[name].reading for name in ("Jupyter CI Δ", "Search Δ")} == {"relative"}
    assert average["No tools"].text == "50.00"
    kimi = [cell for cell in fourth.recomputed if cell.row == "Kimi-K2-Thinking" and cell.reading]
    assert [(cell.reading, cell.follows) for cell in kimi] == [("relative", True)] * 2


def test_ranks_ties_and_sums_of_the_second_lpfqa_follow() -> None:
    tables = audited("lpfqa_v2")
    ranks = [cell for cell in tables["10"].recomputed if "rank" in cell.column]
    assert len(ranks) == 21
    assert all(cell.follows for cell in ranks)
    tied = [cell.text for cell in ranks if cell.column == "LPFQA rank" and cell.text == "4"]
    assert len(tied) == 2
    assert [cell.text for cell in tables["8"].recomputed] == ["430"]
    errors = tables["9"]
    assert [cell.text for cell in errors.recomputed] == ["100"] * 7
    assert not errors.findings


def test_questions_behind_the_scores_of_lpfqa() -> None:
    first, second = audited("lpfqa_v1"), audited("lpfqa_v2")
    # The abstract's 502 questions and not the text's 505 allow all twelve scores.
    assert not first["1"].findings
    assert "9 of 12 scores cannot be a share of 421 questions in 3 runs" in finding(first["2"], "", "LPFQA=").text
    assert finding(first["2"], "", "LPFQA=").text.endswith("With 413, 12 of 12 can")
    facts = {each.column: each.text for each in second["2"].findings if each.kind == "granularity"}
    assert list(facts) == ["Life Sci", "Maths", "Natural Sci", "EE", "Overall"]
    assert "11 of 11 scores cannot be a share of 71 questions" in facts["Life Sci"]
    assert facts["Life Sci"].endswith("With 72, 9 of 11 can")
    assert facts["Natural Sci"].endswith("With 96, 9 of 11 can")
    assert facts["EE"].endswith("With 59, 9 of 11 can")
    assert "44.50" in finding(second["4"], "", "Jupyter CI").text


def test_encyclo_k() -> None:
    tables = audited("encyclo_k")
    assert {name: told(one, "wrong") for name, one in tables.items()} == {
        "1": [("total", "Overall", "En"), ("total", "Overall", "Zh")],
        "2": [("total", "Overall", "Tokens avg"), ("total", "Overall", "Options avg")],
        "3": [],
        "4": [],
        "5": [],
        SCORES: [("copy", "Qwen3-4B-Instruct-2507", "Score")],
        GAPS: [("delta", "Qwen3-0.6B", "Thinking Δ")],
    }
    assert finding(tables["1"], "Overall", "En").text == "printed 28045; the 11 rows add up to 28048"
    assert finding(tables["1"], "Overall", "Zh").text == "printed 14974; the 8 rows add up to 14971"
    assert finding(tables["2"], "Overall", "Tokens avg").text.endswith("the rows' mean by Total is 3113.26")
    # By discipline, 58 models' scores are shares of the questions that table 2 counts, and give their averages.
    assert len(tables["3"].recomputed) == len(tables["3"].table.rows) == 58
    assert not tables["3"].findings
    assert not tables["5"].findings
    assert len(tables["5"].recomputed) == 3
    assert "0.72 points" in finding(tables[GAPS], "Qwen3-0.6B", "Thinking Δ").text
    stated = finding(tables[SCORES], "Qwen3-4B-Instruct-2507", "Score").text
    assert stated.endswith("printed 22.55, there 28.60")


@pytest.mark.parametrize("paper", sorted(PUBLISHED))
def test_the_tables_are_typed_in_without_a_slip(paper: str) -> None:
    if not SEEDS.is_dir():
        pytest.skip("the papers' texts are not beside the project (../shared/seeds)")
    text = re.sub(r"<[^>]*>|\*", "", (SEEDS / TEXTS[paper]).read_text(encoding="utf-8"))
    text = text.replace(r"\downarrow", "↓").replace(r"\uparrow", "↑")
    lines = {" ".join(line.split()) for line in text.splitlines()}
    missing = []
    for table in load_published(PUBLISHED[paper]).tables:
        for row in table.rows:
            cells = [cell.text if cell else "/" for cell in row.cells]
            if " ".join([row.name, *cells]) not in lines and not any(line.endswith(" ".join(cells)) for line in lines):
                missing.append((table.name, row.name))
    # The first is printed turned round; the others are put together from sentences.
    assert {name for name, _ in missing} <= ({"4", GAPS, SCORES} if paper == "encyclo_k" else set())
