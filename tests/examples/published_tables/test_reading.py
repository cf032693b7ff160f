"""A file of tables is read as a paper prints them, or refused with its line and key."""

import re
from fractions import Fraction
from pathlib import Path

import pytest
from examples.published_tables.audit import audit
from examples.published_tables.files import PUBLISHED, load_published
from examples.published_tables.tables import Paper, printed
from hypothesis import given
from hypothesis import strategies as st

from toolablate.traces.errors import InputError

GOOD = """source = "A paper"

[[table]]
name = "1"
columns = ["Score", "rank"]
rows = '''
A model 50.0 1
B       40.0 2
'''

[[table]]
name = "2"
columns = ["Search", "Δ"]
baseline = "1: Score"
average = "Average"
rows = '''
a MODEL 45.0 5.0 \\% \\downarrow
B       44.0 ↑4.0

Average 44.5 -
'''
"""


def load(folder: Path, text: str) -> Paper:
    path = folder / "paper.toml"
    path.write_text(text, encoding="utf-8")
    return load_published(path)


def test_rows_are_read_as_a_paper_prints_them(tmp_path: Path) -> None:
    first, second = load(tmp_path, GOOD).tables
    assert [row.name for row in first.rows] == ["A model", "B"]
    assert [(column.name, column.kind, column.of) for column in second.columns] == [
        ("Search", "score", ""),
        ("Search Δ", "delta", "Search"),
    ]
    down, up, empty = (second.cell(row, "Search Δ") for row in second.rows)
    assert down is not None
    assert up is not None
    assert (down.value, down.percent, up.value, up.percent) == (-5, True, 4, False)
    assert empty is None
    found = audit(load(tmp_path, GOOD))
    assert found.ok
    assert [cell.follows for one in found.tables for cell in one.recomputed] == [True] * 5


@pytest.mark.parametrize(
    ("text", "value", "decimals"),
    [
        ("35.89", "35.89", 2),
        ("10,606", "10606", 0),
        ("2.89%↓", "-2.89", 2),
        ("↑.5", "0.5", 1),
        ("(+0.30)", "0.3", 2),
        ("−4.5", "-4.5", 1),
        ("-4.5↓", "-4.5", 1),
        ("7▲", "7", 0),
        ("35.9±0.41%", "35.9", 1),
    ],
)
def test_figures(text: str, value: str, decimals: int) -> None:
    figure = printed(text)
    assert (figure.value, figure.decimals) == (Fraction(value), decimals)
    assert figure.interval.high - figure.interval.low == Fraction(1, 10**decimals)


LATEX = r"""
\midrule
Claude 4 \& more & \textbf{50.0} & $\downarrow$ 4.0 \\
B & 40.0$\pm$0.3 & \\
\bottomrule
"""
MARKDOWN = """
| Model | Search | Δ |
|:------|-------:|---|
| Claude 4 & more | **50.0** | ↓ 4.0 |
| B | 40.0 ± 0.3 |  |
"""
TABS = "Claude 4 & more\t50.0\t4.0 ↓\nB\t40.0†\t"
BLANKS = "Claude 4 & more 50.0 4.0 ↓\nB 40.0 ± 0.3 n/a"


@pytest.mark.parametrize("rows", [LATEX, MARKDOWN, TABS, BLANKS])
def test_rows_of_other_kinds_of_tables(tmp_path: Path, rows: str) -> None:
    text = f"source = 's'\n[[table]]\nname = '1'\ncolumns = ['Search', 'Δ']\nbaseline = 'Search'\nrows = '''{rows}'''"
    (table,) = load(tmp_path, text).tables
    assert [row.name for row in table.rows] == ["Claude 4 & more", "B"]
    cells = [[None if cell is None else (cell.value, cell.decimals) for cell in row.cells] for row in table.rows]
    assert cells == [[(50, 1), (-4, 1)], [(40, 1), None]]


def test_long_runs_of_blanks_take_linear_time(tmp_path: Path) -> None:
    rows = "A model" + " " * 1_000_000 + "b 50.0 1"
    text = GOOD.partition('\n[[table]]\nname = "2"')[0].replace("A model 50.0 1", rows)
    assert load(tmp_path, text).tables[0].rows[0].name == "A model b"


def test_another_kind_of_file_is_told_what_is_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"broken TOML(.|\n)*published_tables --help"):
        load(tmp_path, "| Model | Score |\n|---|---|\n| a | 1 |\n")


@pytest.mark.parametrize(
    "text", ["", "%", ".", "4,5", "1e5", "nan", "４", "(4", "4)", "--4", "9" * 20, "4.5x", "+4↓", "±1", "4±", "4±x"]
)
def test_what_is_no_figure(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no figure|different things"):
        printed(text)


@pytest.mark.parametrize(
    ("old", "new", "line", "parts"),
    [
        ('source = "A paper"', "", 1, ["'source' is missing"]),
        ('source = "A paper"', "source = 4", 1, ["'source' must be a text", "found 4"]),
        ('source = "A paper"', "sauce = 4", 1, ["unknown key 'sauce'", "Did you mean 'source'?"]),
        ('name = "2"', 'name = "1"', 12, ["table named '1' stands above"]),
        ('average = "Average"', 'avarage = "Average"', 15, ["unknown key 'avarage'", "Did you mean 'average'?"]),
        ('average = "Average"', 'average = "Mean"', 15, ["'average' names the row 'Mean'", "a MODEL, B, Average"]),
        ('average = "Average"', 'average = "Average"\ntotal = "B"', 16, ["'average' and 'total'"]),
        ('average = "Average"', 'largest = ["Search"]', 15, ["'largest' is of the row that sums up"]),
        ('average = "Average"', "questions = 0", 15, ["'questions' must be a whole number", "found 0"]),
        ('average = "Average"', "questions = { Law = 4 }", 15, ["'questions' names the column 'Law'", "are Search"]),
        ('average = "Average"', 'sums = ["Search"]', 15, ["'Search' is no rule"]),
        ('average = "Average"', 'sums = ["Search = B + C"]', 15, ["names the column 'B'"]),
        ('average = "Average"', 'weighted_means = ["1: Score = Search"]', 15, ["weighs by questions"]),
        ('"1: Score"', '"1: Sauce"', 14, ["'baseline' names the column '1: Sauce'", "Table 1 has Score"]),
        ('baseline = "1: Score"\n', "", 13, ["changes (Δ), and the key 'baseline' is missing"]),
        ('["Search", "Δ"]', '["Δ", "Search"]', 13, ["'Δ' stands first"]),
        ('["Search", "Δ"]', '["Search", "Search"]', 13, ["two columns are named 'Search'"]),
        ('["Search", "Δ"]', "[]", 13, ["'columns' must be a list of names"]),
        ("B       44.0 ↑4.0", "B       4x.0 ↑4.0", 18, ["row 'B', column 'Search': '4x.0' is no figure"]),
        ("B       44.0 ↑4.0", "B       44.0", 18, ["'B       44.0' has 2 parts", "Search, Search Δ"]),
        ("B       44.0 ↑4.0", "B 4     44.0 ↑4.0", 18, ["has '4' before its 2 cells", "B 4 | 44.0 | ↑4.0"]),
        ("B       44.0 ↑4.0", "B 44.0 ↑4.0 3.0", 18, ["has '44.0' before its 2 cells: one cell too many"]),
        ("B       44.0 ↑4.0", "B 44.0 ± 0.2 ↑4.0 ± 0.1 1", 18, ["has '44.0±0.2' before its 2 cells"]),
        ("B       44.0 ↑4.0", "B | 44.0", 18, ["'B | 44.0' has 2 parts"]),
        ("B       44.0 ↑4.0", "B | 44.0 | 4.0 | 1", 18, ["has 4 parts; expected are a name and 2 cells"]),
        ("B       44.0 ↑4.0", "B 44.0 ↓ 4.0", 18, ["'44.0↓' has an arrow", "'Search' is no change", "put | between"]),
        ("B       44.0 ↑4.0", "A Model 44.0 4.0", 18, ["a row named 'A Model' stands above"]),
        ("Average 44.5 -", "Average 44.5 +4↓", 20, ["a sign and an arrow"]),
        ("A model 50.0 1\nB       40.0 2\n", "", 6, ["'rows' holds no row"]),
        ("'''\na MODEL", "'''a 4x 4\na MODEL", 16, ["'4x' is no figure"]),
        ("[[table]]", "[table]", 3, ["'table' must be a list of tables", "[[table]]"]),
        ("[[table]]", "[[table", 3, ["broken TOML at column"]),
        ("rows = '''", 'rows = """', 17, ["broken TOML", "stand in ''' '''"]),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, old: str, new: str, line: int, parts: list[str]) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1 if new == "[[table" else -1)
    if new == 'rows = """':
        text = text.replace("'''", '"""')
    if new == "[table]":
        text = text.partition('\n[table]\nname = "2"')[0]
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    told = str(caught.value)
    assert told.startswith(f"{tmp_path / 'paper.toml'}:{line}: "), told
    for part in parts:
        assert part in told


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: cannot be read: No such file"):
        load_published(tmp_path / "none.toml")
    path = tmp_path / "bad.toml"
    path.write_bytes(b'source = "A"\n\xff')
    with pytest.raises(InputError, match=r"bad\.toml:2: not UTF-8: byte 0xff"):
        load_published(path)
    path.write_text("x = " + "[" * 5000, encoding="utf-8")
    with pytest.raises(InputError, match=r"nested too deeply|broken TOML"):
        load_published(path)
    path.write_text("x = " + "9" * 5000, encoding="utf-8")
    with pytest.raises(InputError, match="broken TOML"):
        load_published(path)


@given(st.text(max_size=60))
def test_any_text_is_a_figure_or_refused(text: str) -> None:
    try:
        figure = printed(text)
    except ValueError:
        return
    assert re.search(r"[0-9]", figure.text)
    assert figure.size >= 0


def test_the_example_of_the_guide_is_read(tmp_path: Path) -> None:
    guide = (Path(PUBLISHED["lpfqa_v2"]).parent / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```toml\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    paper = load(tmp_path, example)
    assert [row.name for row in paper.tables[0].rows] == ["GPT-5-High", "GLM-4.6", "Average"]
    for name in PUBLISHED:
        assert f"`{name}.toml`" in guide
