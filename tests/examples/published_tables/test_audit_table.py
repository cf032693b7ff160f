"""The program of published tables: its exit codes, its pages at every width, and its JSON."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from examples.published_tables.__main__ import command
from examples.published_tables.audit import audit
from examples.published_tables.files import PUBLISHED, load_published
from examples.published_tables.shown import audit_view
from rich.cells import cell_len
from tests.traces.pages import SAFE, shown

from toolablate.traces.errors import InputError

EVIL = r"\u001b]52;c;AAAA\u0007\u001b[2J[red]x[/nonsense]\u202e\u0000"
SOUND = """source = "s"
[[table]]
name = "1"
columns = ["Base", "Tool", "Δ"]
baseline = "Base"
average = "mean"
rows = '''
a    50.0 40.0 -20.0
b    80.0 60.0 -25.0
mean 65.0 50.0 -23.1
'''
"""
OPPOSITE = """source = "s"
[[table]]
name = "1"
columns = ["Base", "Tool", "Δ"]
baseline = "Base"
average = "Average"
rows = '''
x 80 40 50.0%↓
y 20 30 50.0%↑
Average 50.0 35.0 0.0%
'''
"""


def ran(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, list(map(str, arguments)))


def written(folder: Path, text: str) -> Path:
    path = folder / "paper.toml"
    path.write_text(text, encoding="utf-8")
    return path


def flat(page: str) -> str:
    return re.sub(r"\s", "", page)


def test_what_follows_exits_with_0_and_what_does_not_with_1(tmp_path: Path) -> None:
    sound = ran(written(tmp_path, SOUND))
    assert sound.exit_code == 0, sound.output
    assert "All follows." in sound.output
    wrong = ran(written(tmp_path, SOUND.replace("-25.0", "-24.0")))
    assert wrong.exit_code == 1
    assert "1 finding in 1 table of 1: printed figures that do not follow." in wrong.output
    assert re.search(r"b\s+80\.0\s+60\.0\s+-24\.0 ≠ −25\.0", wrong.output)


def test_an_average_of_changes_is_told_from_the_change_of_the_averages(tmp_path: Path) -> None:
    path = written(tmp_path, OPPOSITE)
    page = ran(path)
    assert page.exit_code == 0
    assert "0.0% = 0.0" in page.output
    assert "≈ −30.0" not in page.output
    told = "printed 0.0%, read as the mean of the rows' changes: 0.0 %; change of the averages: −30.0 %"
    assert told in " ".join(page.output.split())
    assert "All follows. 1 remark above." in page.output
    (table,) = json.loads(ran(path, "--json").output)["tables"]
    cell = next(each for each in table["recomputed"] if (each["row"], each["column"]) == ("Average", "Tool Δ"))
    assert (cell["printed"], cell["recomputed"], cell["follows"]) == ("0.0%", 0.0, True)
    assert cell["average_of"] == ["mean_of_changes"]
    assert cell["readings"] == {"mean_of_changes": 0.0, "change_of_averages": -30.0}


def test_a_change_in_another_unit_is_shown_in_its_own(tmp_path: Path) -> None:
    """The same figure on both sides of a ≠ would say nothing."""
    rows = "strong 80.00 60.00 25.00↓\nmid 60.00 50.00 16.67↓\nweak 40.00 20.56 19.44↓"
    page = ran(written(tmp_path, OPPOSITE[: OPPOSITE.index("average")] + f"rows = '''\n{rows}\n'''\n"))
    assert page.exit_code == 1
    assert "19.44↓ = −19.44 points" in page.output
    assert "25.00↓ = −25.00 " in page.output
    assert "points, %: so in this unit, which is not that of the other changes." in " ".join(page.output.split())


def test_a_broken_file_is_refused_with_its_line(tmp_path: Path) -> None:
    broken = ran(written(tmp_path, SOUND.replace("80.0", "8o.0")))
    assert isinstance(broken.exception, InputError)  # which the command line turns into exit code 2
    assert f"{tmp_path / 'paper.toml'}:9: row 'b', column 'Base': '8o.0' is no figure" in str(broken.exception)
    absent = ran(tmp_path / "none.toml")
    assert isinstance(absent.exception, InputError)
    assert f"Those that come along are {', '.join(sorted(PUBLISHED))}." in str(absent.exception)


def test_papers_that_come_along_are_found_by_name_and_named_in_the_help() -> None:
    found = ran("lpfqa_v2", "--json")
    assert found.exit_code == 1
    assert json.loads(found.output)["source"].startswith("LPFQA, second version")
    told = ran("--help").output
    assert ", ".join(sorted(PUBLISHED)) in " ".join(told.split())


def test_the_example_of_the_help_follows_from_itself(tmp_path: Path) -> None:
    told = command.help or ""
    example = told[told.index("source =") : told.index("Each row is")]
    found = ran(written(tmp_path, example.replace("\b", "")), "--json")
    tables = json.loads(found.output)["tables"]
    assert [cell["row"] for cell in tables[0]["recomputed"] if cell["column"] == "Search Δ"] == [
        "GPT-5",
        "GLM-4.6",
        "Average",
    ]


def test_json_has_every_cell_and_finding() -> None:
    content = json.loads(ran("lpfqa_v1", "--json").output)
    assert content["ok"] is False
    assert [(table["table"], table["ok"]) for table in content["tables"]] == [("1", True), ("2", True), ("3", False)]
    third = content["tables"][2]
    cell = next(each for each in third["recomputed"] if (each["row"], each["column"]) == ("o3-high", "Jupyter CI Δ"))
    assert cell == {
        "row": "o3-high",
        "column": "Jupyter CI Δ",
        "printed": "0.37%↓",
        "recomputed": pytest.approx(-0.27),
        "follows": False,
        "reading": "neither",
        "average_of": None,
        "readings": None,
    }
    average = next(each for each in third["recomputed"] if (each["row"], each["column"]) == ("Average", "Search Δ"))
    assert (average["recomputed"], average["reading"]) == (pytest.approx(-10.65, abs=0.005), "relative")
    assert average["average_of"] == ["change_of_averages"]
    assert average["readings"] == {
        "change_of_averages": pytest.approx(-10.65, abs=0.005),
        "mean_of_changes": pytest.approx(-10.52, abs=0.005),
    }
    assert [finding["level"] for finding in third["findings"]] == ["wrong"] * 3 + ["remark"] * 2 + ["fact"] * 5


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
@pytest.mark.parametrize("paper", sorted(PUBLISHED))
def test_a_page_fits_and_loses_nothing(paper: str, width: int) -> None:
    found = audit(load_published(PUBLISHED[paper]))
    page = shown(audit_view(found), width)
    assert max(map(cell_len, page.splitlines())) <= width
    assert "…" not in page
    assert "Not shown" not in page
    whole = flat(page)
    for one in found.tables:
        for finding in one.findings:
            assert flat(finding.text) in whole
        for row in one.table.rows:
            assert flat(row.name)[:8] in whole
        for cell in one.recomputed:
            # A rule whose sum is a number has no column of its own.
            assert cell.text in page or cell.column.startswith("sum of")
    if paper == "lpfqa_v1":
        for part in ("0.37%↓ ≠ −0.27", "4.51%↓ ≈ −4.52", "1.92%↓ = −1.92", "36.15 ≠ 36.34"):
            assert part in page


@pytest.mark.parametrize("width", [60, 140])
def test_hostile_names_are_inert(tmp_path: Path, width: int) -> None:
    text = SOUND.replace('"s"', f'"{EVIL}"').replace('"Tool"', f'"{EVIL}"').replace('name = "1"', f'name = "{EVIL}"')
    text = text.replace("'''", '"""').replace("\nb ", f"\n{EVIL} ").replace("-25.0", "-24.0")
    page = shown(audit_view(audit(load_published(written(tmp_path, text)))), width)
    assert SAFE.fullmatch(page)
    assert "[red]x[/nonsense]" in page
    assert page.count("[red]x[/nonsense]") > 2
    broken = ran(written(tmp_path, text.replace("average = ", "avarage = ")))
    assert isinstance(broken.exception, InputError)


def test_a_table_without_rules_says_that_nothing_was_recomputed(tmp_path: Path) -> None:
    path = written(tmp_path, "source = 's'\n[[table]]\nname = '1'\ncolumns = ['X']\nrows = 'a 1.0'\n")
    page = ran(path).output
    assert "Nothing could be recomputed." in page
