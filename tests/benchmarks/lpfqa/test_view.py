"""The pages of a scoreboard: widths, marks, and what names in them cannot do."""

import re

import pytest
from rich.cells import cell_len
from tests.benchmarks.lpfqa.boards import right, seen
from tests.traces.pages import SAFE, shown

from toolablate.benchmarks.lpfqa.scoreboard import OtherBenchmark, scoreboard
from toolablate.benchmarks.lpfqa.terminal_tables import scoreboard_view

EVIL = "\x1b]52;c;AAAA\x07\x1b[2J[red]x[/nonsense]\u202e\x00"


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120, 200])
def test_no_page_is_wider_than_its_terminal_nor_does_anything(width: int) -> None:
    names = [f"{EVIL}model-{number}-of-a-long-name" for number in range(4)]
    domains = [f"{EVIL}A domain with a very long name {number % 9}" for number in range(45)]
    trials = [
        each
        for number, model in enumerate(names)
        for condition in ("none", f"{EVIL}python")
        for each in seen(model, right(9 * number, 45), condition=condition, domains=domains, difficulties=domains)
    ]
    others = [OtherBenchmark(f"{EVIL}other", {names[0]: 1.0, names[1]: 2.0, f"{EVIL}new": 3.0})]
    page = shown(scoreboard_view(scoreboard(trials, "none", others=others)), width)
    assert SAFE.fullmatch(page)
    assert max(cell_len(line) for line in page.splitlines()) <= width
    assert "[red]x" in page.replace("\n", "").replace(" ", "")


def test_more_domains_than_fit_are_shown_block_by_block() -> None:
    domains = [f"Domain {number % 9}" for number in range(45)]
    page = shown(scoreboard_view(scoreboard(seen("a", right(9, 45), domains=domains), "none")), 50)
    headings = [line.split("Domain ") for line in page.splitlines() if line.startswith(" model  ") and "Domain" in line]
    assert [len(names) - 1 for names in headings] == [3, 3, 3]


def test_domains_whose_names_are_cut_alike_keep_enough_to_tell_them_apart() -> None:
    domains = ["Materials Engineering", "Materials Science and Engineering", "Mathematics"] * 3
    page = shown(scoreboard_view(scoreboard(seen("a", right(3, 9), domains=domains), "none")), 120)
    (heading,) = [line for line in page.splitlines() if line.startswith(" model ") and "Overall" in line]
    assert re.split(r"\s{2,}", heading.strip()) == [
        "model",
        "Materials Engineering",
        "Materials…ngineering",
        "Mathematics",
        "Overall",
    ]


def test_one_model_is_told_why_no_questions_are_chosen_by_its_results() -> None:
    page = " ".join(shown(scoreboard_view(scoreboard(seen("a", right(3, 6)), "none"))).split())
    assert "is not shown: of fewer than two models that says nothing of the questions." in page
    assert "LPFQA" not in page


def test_deltas_are_marked_where_noise_explains_them_and_averages_told_apart() -> None:
    trials = [
        each
        for model, (before, after) in {"a": (160, 80), "b": (40, 38)}.items()
        for condition, count in (("none", before), ("python", after))
        for each in seen(model, right(count, 200), condition=condition)
    ]
    page = shown(scoreboard_view(scoreboard(trials, "none")), 120)
    assert re.search(r" a +200 +80\.00 +40\.00 +−40\.00 .* −50\.00 %", page)
    assert re.search(r" b +\*200 +20\.00 +19\.00 +~−1\.00 .* −5\.00 %", page)
    assert re.search(r"mean of models +200 +50\.00 +29\.50 +−20\.50 ", page)
    assert re.search(r"relative Δ of these means +−41\.00 %", page)
    assert re.search(r"mean of relative Δ +−27\.50 %", page)
