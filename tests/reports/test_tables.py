"""Tables as CSV: what comes from outside stays in its cell and is no formula."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolablate.analysis.spreadsheets import csv_text, ends


@pytest.mark.parametrize(
    "text", ["=1+1", "\n=1+1", " =1+1", "\ufeff=1+1", "\uff1d1+1", "+1", "-1", "@sum", "\tx", "\rx", "\x00=1"]
)
def test_a_text_that_a_spreadsheet_would_run_is_disarmed(text: str) -> None:
    ((cell,),) = list(csv.reader(io.StringIO(csv_text(["name"], [{"name": text}]), newline="")))[1:]
    assert cell == f"'{text}"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=3))
def test_any_text_stays_in_its_row_and_column(texts: list[str]) -> None:
    columns = [f"c{number}" for number in range(len(texts))]
    table = csv_text(columns, [dict(zip(columns, texts, strict=True))] * 2)
    header, *rows = csv.reader(io.StringIO(table, newline=""))
    assert header == columns
    assert len(rows) == 2
    for row in rows:
        assert [cell.removeprefix("'") for cell in row] == [text.removeprefix("'") for text in texts]
    assert "\r" not in table.replace("\r\n", "\n") or any("\r" in text for text in texts)


def test_figures_are_left_alone_and_what_is_unknown_is_empty() -> None:
    rows = [{"a": -1.5, "b": None, "c": "a\rb"}, {"a": 2}]
    assert csv_text(["a", "b", "c"], rows) == 'a,b,c\n-1.5,,"a\rb"\n2,,\n'
    with pytest.raises(ValueError, match="other"):
        csv_text(["a"], [{"other": 1}])
    assert ends("ci95", (1.0, 2.0)) == {"ci95_low": 1.0, "ci95_high": 2.0}
    assert ends("ci95", None) == {"ci95_low": None, "ci95_high": None}
