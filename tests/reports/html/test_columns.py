import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from toolablate.reports.html.columns import aligned
from toolablate.reports.html.marking import shown

BY_LETTERS = "    姓名    城市  score\n0   张三    北京   1.50\n1  欧阳修  乌鲁木齐  22.25\n2  Bob   NYC   3.00"
BY_CELLS = (
    "     姓名      城市  score\n0    张三      北京   1.50\n1  欧阳修  乌鲁木齐  22.25\n2     Bob       NYC   3.00"
)
LEFT = "名字        分数\n欧阳修       10\nab         7"


def straight(text: str) -> str:
    return "".join(" " * int(name[4:]) if name.startswith("pad-") else piece for name, piece in aligned(text))


@pytest.mark.parametrize("text", [BY_LETTERS, BY_CELLS, LEFT])
def test_columns_of_chinese_letters_are_straight(text: str) -> None:
    assert len({cell_len(line) for line in straight(text).split("\n")}) == 1
    assert "".join(piece for _, piece in aligned(text)) == text


def test_what_pads_a_table_of_cells_is_left_alone() -> None:
    assert straight(BY_CELLS) == BY_CELLS


def test_prose_is_no_table() -> None:
    assert list(aligned("中文。")) == [("", "中文。")]


@given(st.text(st.sampled_from("ab 中文\n|"), max_size=200))
def test_no_letter_is_lost(text: str) -> None:
    assert "".join(piece for _, piece in aligned(text)) == text


def test_blanks_that_are_added_are_told_from_the_text() -> None:
    html = str(shown(BY_LETTERS, "output"))
    assert '<span class="wide">欧阳修</span>' in html
    assert re.sub("<[^>]*>", "", re.sub('<span class="pad"> *</span>', "", html)) == BY_LETTERS
