"""The arithmetic: what rounding explains is never called wrong, and what it does not explain always is."""

from collections import Counter
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from examples.published_tables.audit import TableAudit, audit, best_fits, possible
from examples.published_tables.files import load_published
from examples.published_tables.tables import Interval, figure, mean, printed, relative_change
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SHARES = st.decimals(min_value=1, max_value=99, places=6)
ROUNDINGS = st.sampled_from([ROUND_HALF_UP, ROUND_HALF_EVEN])
IN_TMP = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def audited(folder: Path, keys: str, rows: str) -> TableAudit:
    path = folder / "paper.toml"
    path.write_text(f"source = 's'\n[[table]]\nname = '1'\n{keys}\nrows = '''\n{rows}\n'''", encoding="utf-8")
    return audit(load_published(path)).tables[0]


def kinds(one: TableAudit, level: str = "wrong") -> list[str]:
    return [finding.kind for finding in one.findings if finding.level == level]


def rounded(value: Decimal, places: int, rounding: str) -> str:
    return str(value.quantize(Decimal(1).scaleb(-places), rounding=rounding))


@IN_TMP
@given(
    st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=6), st.booleans(), st.sampled_from([0, 1, 2]), ROUNDINGS
)
def test_what_rounding_explains_is_never_called_wrong(
    tmp_path: Path, pairs: list[tuple[Decimal, Decimal]], relative: bool, places: int, rounding: str
) -> None:
    """Scores, changes and averages of exact values, each rounded by itself."""
    rows = []
    whole = [sum(values, Decimal(0)) / len(pairs) for values in zip(*pairs, strict=True)]
    for name, (base, score) in (*((f"m{n}", pair) for n, pair in enumerate(pairs)), ("mean", whole)):
        change = 100 * (score - base) / base if relative else score - base
        cells = [rounded(value, places, rounding) for value in (base, score, change)]
        rows.append(" ".join([name, *cells]))
    one = audited(tmp_path, "columns = ['Base', 'Tool', 'Δ']\nbaseline = 'Base'\naverage = 'mean'", "\n".join(rows))
    assert kinds(one) == []
    assert len(one.recomputed) == len(pairs) + 3


@IN_TMP
@given(
    st.lists(st.tuples(SHARES, SHARES), min_size=2, max_size=6),
    st.sampled_from(["sizes", "minus", "arrows"]),
    ROUNDINGS,
)
def test_an_average_of_changes_follows_however_their_way_is_written(
    tmp_path: Path, pairs: list[tuple[Decimal, Decimal]], style: str, rounding: str
) -> None:
    """Relative changes average to another figure than the change of the averages; papers print either."""
    changes = [100 * (score - base) / base for base, score in pairs]
    rows = []
    for name, values in (
        *((f"m{n}", (*pair, change)) for n, (pair, change) in enumerate(zip(pairs, changes, strict=True))),
        ("mean", tuple(sum(each) / len(pairs) for each in (*zip(*pairs, strict=True), changes))),
    ):
        base, score, change = (rounded(Decimal(value), 1, rounding) for value in values)
        if style != "minus":
            arrow = "" if style == "sizes" else "↓" if change.startswith("-") else "↑"
            change = change.lstrip("-") + arrow
        rows.append(f"{name} {base} {score} {change}")
    one = audited(tmp_path, "columns = ['Base', 'Tool', 'Δ']\nbaseline = 'Base'\naverage = 'mean'", "\n".join(rows))
    assert kinds(one) == []
    average = one.cell("mean", "Tool Δ")
    assert average is not None
    assert {"mean_of_changes", "mean_of_sizes"} & set(average.average_of)


@pytest.mark.deep
def test_an_average_change_is_never_shown_beside_a_figure_that_it_is_not(tmp_path: Path) -> None:
    """200 right tables whose average row prints either: which one is found, and its figure shown."""
    random, keys = Random(3), "columns = ['Base', 'Tool', 'Δ']\nbaseline = 'Base'\naverage = 'mean'"
    read: Counter[tuple[str, ...]] = Counter()
    for number in range(200):
        pairs = [(random.uniform(20, 90), random.uniform(20, 90)) for _ in range(random.randint(3, 12))]
        base, score = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
        changes = [100 * (after / before - 1) for before, after in pairs]
        whole = sum(changes) / len(pairs) if number % 2 else 100 * (score / base - 1)
        rows = [(f"m{place}", *pair, change) for place, (pair, change) in enumerate(zip(pairs, changes, strict=True))]
        lines = [
            f"{name} {one:.2f} {two:.2f} {change:+.2f}"
            for name, one, two, change in [*rows, ("mean", base, score, whole)]
        ]
        one = audited(tmp_path, keys, "\n".join(lines))
        cell = one.cell("mean", "Tool Δ")
        assert (kinds(one), cell is not None) == ([], True)
        assert cell is not None
        assert abs(cell.value - Fraction(whole)) < Fraction(5, 100)
        expected = "mean_of_changes" if number % 2 else "change_of_averages"
        assert expected in cell.average_of
        read[cell.average_of] += 1
    assert read["mean_of_changes",] > 95
    assert read["change_of_averages",] > 95


def test_an_average_of_sizes_of_changes_follows(tmp_path: Path) -> None:
    rows = "a 50.0 40.0 20.0\nb 80.0 100.0 25.0\nmean 65.0 70.0 22.5"
    keys = "columns = ['Base', 'Tool', 'Δ']\nbaseline = 'Base'\naverage = 'mean'"
    one = audited(tmp_path, keys, rows)
    assert (kinds(one), kinds(one, "remark")) == ([], ["average_of"])
    assert one.findings[0].text == (
        "printed 22.5, read as the mean of the sizes of the rows' changes: 22.5 %; change of the averages: 7.7 %; mean"
        " of the rows' changes: 2.5 %"
    )
    wrong = audited(tmp_path, keys, rows.replace("22.5", "32.5"))
    assert kinds(wrong) == ["delta"]
    assert wrong.findings[0].text.endswith("The mean of the rows' changes is 2.5 %")


def test_an_average_of_changes_follows_where_a_row_is_a_slip(tmp_path: Path) -> None:
    """As the rows' scores give it."""
    keys = "columns = ['Base', 'Tool', 'Δ']\nbaseline = 'Base'\naverage = 'mean'"
    one = audited(tmp_path, keys, "a 80.0 40.0 -50.0\nb 20.0 25.0 +52.0\nmean 50.0 32.5 -12.5")
    assert [(each.kind, each.row) for each in one.findings if each.level == "wrong"] == [("delta", "b")]


def test_rules_on_figures_with_signs_and_brackets(tmp_path: Path) -> None:
    keys = "columns = ['X', 'Y']\ncopies = ['X = Y']"
    one = audited(tmp_path, keys, "a (+50.0%) 40.0\nb 30.0±0.5 20.0\nc 1,050.0 1050.0")
    assert [(finding.kind, finding.off) for finding in one.findings] == [("copy", 100)]
    assert "in 2 of 3 rows: a printed (+50.0%), there 40.0; b printed 30.0±0.5, there 20.0" in one.findings[0].text


def test_many_rows_take_no_longer_for_each(tmp_path: Path) -> None:
    """Each of 2,000 changes is wrong, and would follow from the baselines of hundreds of rows."""
    rows = "\n".join(f"m{number}x 4{number % 10}.0 30.0 -1{number % 7}.5" for number in range(2000))
    one = audited(tmp_path, "columns = ['Base', 'Tool', 'Δ']\nbaseline = 'Base'", rows)
    assert len(one.recomputed) == 2000
    assert all(" has " not in finding.text for finding in one.findings)
    assert one.cell("m1999x", "Tool Δ") == one.recomputed[-1]


@IN_TMP
@given(SHARES, SHARES, st.integers(4, 5000), st.sampled_from([-1, 1]))
def test_what_rounding_does_not_explain_is_always_found(
    tmp_path: Path, base: Decimal, score: Decimal, off: int, way: int
) -> None:
    """Two scores with two decimals each leave a change in points uncertain by 0.015 at most."""
    first, second = (rounded(value, 2, ROUND_FLOOR) for value in (base, score))
    change = Decimal(second) - Decimal(first) + way * off * Decimal("0.01")
    keys = "columns = ['Base', 'Tool', 'Δ']\nbaseline = 'Base'"
    one = audited(tmp_path, keys, f"a {first} {second} {change:+}")
    (cell,) = one.recomputed
    assert cell.reading in ("neither", "relative")
    if cell.reading == "neither":
        assert kinds(one) in (["delta"], ["sign"])


def test_a_sign_that_contradicts_the_scores(tmp_path: Path) -> None:
    keys = "columns = ['Base', 'Tool', 'Δ']\nbaseline = 'Base'"
    one = audited(tmp_path, keys, "a 50.0 40.0 10.0↑\nb 50.0 45.0 5.0↓\nc 50.0 45.0 5.0")
    assert kinds(one) == ["sign"]
    assert one.findings[0].row == "a"
    assert "the wrong way round" in one.findings[0].text
    assert [cell.follows for cell in one.recomputed] == [False, True, True]


def test_signs_that_all_contradict_the_scores_are_one_finding(tmp_path: Path) -> None:
    keys = "columns = ['Base', 'Tool', 'Δ']\nbaseline = 'Base'"
    one = audited(tmp_path, keys, "a 50.0 40.0 +20.0\nb 50.0 55.0 -10.0\nc 50.0 45.0 10.0\nd 50.0 50.0 -0.0")
    assert [(finding.kind, finding.row) for finding in one.findings] == [("sign", "")]
    assert one.findings[0].text == (
        "each of 2 signs or arrows is the wrong way round, as if changes were the baseline minus the score; such as a's"
        " +20.0 from 50.0 to 40.0"
    )
    assert [cell.follows for cell in one.recomputed] == [False, False, True, True]


def test_rows_in_two_units(tmp_path: Path) -> None:
    keys = "columns = ['Base', 'Tool', 'Δ']\nbaseline = 'Base'"
    one = audited(tmp_path, keys, "a 50.0 40.0 -20.0\nb 60.0 45.0 -25.0\nc 80.0 70.0 -10.0\nd 50.0 50.0 0.0")
    assert kinds(one) == ["units"]
    assert one.findings[0].text == "3 deltas are relative, 1 delta is in points: c, Tool Δ: -10.0"
    assert [cell.reading for cell in one.recomputed] == ["relative", "relative", "points", "both"]


def test_where_rounding_leaves_the_unit_open(tmp_path: Path) -> None:
    keys = "columns = ['Base', 'Tool', 'Δ']\nbaseline = 'Base'"
    (cell,) = audited(tmp_path, keys, "a 90.0 89.9 -0.1").recomputed
    assert (cell.reading, cell.value) == ("both", Fraction(-1, 10))
    one = audited(tmp_path, f"{keys}\naverage = 'mean'", "a 97.00 99.00 2\nmean 97.00 99.00 2.06")
    assert one.ok
    assert [cell.reading for cell in one.recomputed if cell.column == "Tool Δ"] == ["both", "relative"]
    assert audited(tmp_path, f"{keys}\naverage = 'mean'", "a 97.00 99.00 2\nmean 97.00 99.00 2.00").ok


def test_a_change_without_a_baseline_is_said_to_be_unchecked(tmp_path: Path) -> None:
    keys = "columns = ['Base', 'Tool', 'Δ']\nbaseline = 'Base'"
    one = audited(tmp_path, keys, "a - 40.0 -20.0\nb 0.0 45.0 45.0")
    assert (kinds(one), kinds(one, "fact"), one.ok) == ([], ["unchecked"], True)
    assert "printed for a," in one.findings[0].text


@pytest.mark.parametrize(
    ("average", "said"),
    [
        ("20.0", ""),
        ("15.0", "It would be the mean without c."),
        ("10.0", "It would be the mean without b and c."),
        ("21.0", "Nor is it the mean without any one or two of them."),
        ("77.0", "77.0 is the average printed for Y."),
    ],
)
def test_the_rows_that_give_an_average(tmp_path: Path, average: str, said: str) -> None:
    rows = f"a 10.0 76.0\nb 20.0 77.0\nc 30.0 78.0\nmean {average} 77.0"
    one = audited(tmp_path, "columns = ['X', 'Y']\naverage = 'mean'", rows)
    assert kinds(one) == (["average"] if said else [])
    assert not said or one.findings[0].text.endswith(f"the mean of the 3 rows is 20.0. {said}")


def test_totals_largest_smallest_and_weighted_means(tmp_path: Path) -> None:
    keys = """columns = ['N', 'Max', 'Min', 'Avg']
total = 'all'
largest = ['Max']
smallest = ['Min']
weights = { Avg = 'N' }"""
    rows = "a 1 9 3 10.0\nb 3 8 2 20.0\nall {}"
    assert not audited(tmp_path, keys, rows.format("4 9 2 17.5")).findings
    one = audited(tmp_path, keys, rows.format("5 8 3 15.0"))
    assert sorted((finding.column, finding.text) for finding in one.findings) == [
        ("Avg", "printed 15.0; the rows' mean by N is 17.5"),
        ("Max", "printed 8; the largest of the rows is 9"),
        ("Min", "printed 3; the smallest of the rows is 2"),
        ("N", "printed 5; the 2 rows add up to 4"),
    ]


@pytest.mark.parametrize(
    ("ranks", "wrong"), [("1 2 2 4", 0), ("1 2 3 4", 0), ("1 3 2 4", 0), ("2 1 3 4", 2), ("1 2 2 3", 1)]
)
def test_ranks_and_their_ties(tmp_path: Path, ranks: str, wrong: int) -> None:
    scores = zip("abcd", ("9.0", "8.0", "8.0", "1.0"), ranks.split(), strict=True)
    one = audited(tmp_path, "columns = ['X', 'rank']", "\n".join(map(" ".join, scores)))
    assert kinds(one) == ["rank"] * wrong


def test_scores_that_differ_in_the_last_digit_are_no_tie(tmp_path: Path) -> None:
    assert kinds(audited(tmp_path, "columns = ['X', 'rank']", "a 9.0 2\nb 8.9 1")) == ["rank"] * 2


def test_shares_of_a_total_or_of_the_rows(tmp_path: Path) -> None:
    rows = "a 87 41.6\nb 122 58.4"
    assert not audited(tmp_path, "columns = ['N', 'share']", rows).findings
    one = audited(tmp_path, "columns = ['N', 'share']\ntotal = 't'", f"{rows}\nc 1 0.7\nt 210 100.0")
    assert [(finding.row, finding.text) for finding in one.findings] == [
        ("b", "printed 58.4; 122 of 210 is 58.1 %"),
        ("c", "printed 0.7; 1 of 210 is 0.5 %"),
        ("a", "printed 41.6; 87 of 210 is 41.4 %"),
    ]


def test_counts_are_exact_where_they_are_added_up(tmp_path: Path) -> None:
    keys = "columns = ['All', 'En', 'Zh']\nsums = ['All = En + Zh', '100 = En + Zh']"
    assert kinds(audited(tmp_path, keys, "a 100 60 40\nb 100 100 /")) == []
    assert kinds(audited(tmp_path, keys, "a 101 60 40")) == ["sum"]
    summed = audited(
        tmp_path, "columns = ['All', 'En', 'Zh']\nsums = ['All = En + Zh']\ntotal = 't'", "a 9 6 3\nt 9 7 3"
    )
    assert kinds(summed) == ["total", "sum"]
    assert kinds(audited(tmp_path, "columns = ['X']\ntotal = 't'", "a 41.6\nb 58.3\nt 100")) == []
    assert kinds(audited(tmp_path, keys, "a 100.0 60.0 39.9")) == []
    assert kinds(audited(tmp_path, keys, "a 100.0 60.0 39.8")) == ["sum", "sum"]


def test_equal_rows_are_named_unless_they_are_counts(tmp_path: Path) -> None:
    keys = "columns = ['Base', 'X', 'Y', 'Z']\nbaseline = 'Base'"
    one = audited(tmp_path, keys, "a 1.00 33.50 30.50 7.25\nb 2.00 33.50 30.50 7.25\nc 3.00 33.50 30.50 7.26")
    assert [(finding.row, finding.text) for finding in one.findings] == [
        ("a", "equal to b's in all three cells (X 33.50, Y 30.50, Z 7.25)")
    ]
    assert not audited(tmp_path, "columns = ['X', 'Y']", "a 10 8\nb 10 8").findings


def test_one_score_twice_is_told_where_chance_hardly_does_it(tmp_path: Path) -> None:
    rows = "a 35.89 35.89\nb 20.11 30.25\nc 60.50 50.75"
    assert kinds(audited(tmp_path, "columns = ['X', 'Y']", rows), "remark") == ["equal"]
    # With 10 questions there are four scores in that range.
    assert kinds(audited(tmp_path, "columns = ['X', 'Y']\nquestions = 10", rows), "remark") == []


@given(st.integers(1, 3000), st.data())
def test_every_share_of_so_many_answers_is_possible(answers: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, answers))
    for places in (0, 1, 2):
        assert possible(printed(figure(Fraction(100 * right, answers), places)), answers)


def test_scores_that_are_no_share(tmp_path: Path) -> None:
    assert not possible(printed("44.50"), 430)
    assert possible(printed("44.50"), 3 * 430)
    assert possible(printed("45.35"), 430)
    assert all(possible(printed(f"{number / 100:.2f}"), 10_000) for number in range(10_001))
    scores = [printed(figure(Fraction(100 * right, 72), 2)) for right in (30, 39, 34, 33, 41)]
    assert [fit.questions for fit in best_fits(scores, 71, 1)] == [72]
    assert best_fits(scores, 72, 1) == []
    # Equal scores are allowed together, and say no more than one.
    assert best_fits([printed("44.53")] * 5, 430, 1) == []
    rows = "\n".join(f"m{number} {score.text}" for number, score in enumerate(scores))
    one = audited(tmp_path, "columns = ['X']\nquestions = 71", rows)
    assert (one.ok, kinds(one, "fact")) == (True, ["granularity"])
    assert not audited(tmp_path, "columns = ['X']\nquestions = 36\nrepeats = 2", rows).findings


def test_means_and_relative_changes_span_all_that_rounding_allows() -> None:
    one, other = Interval(Fraction(1), Fraction(2)), Interval(Fraction(3), Fraction(5))
    assert mean([one, other]) == Interval(Fraction(2), Fraction(7, 2))
    assert mean([one, other], [Fraction(3), Fraction(1)]) == Interval(Fraction(3, 2), Fraction(11, 4))
    assert relative_change(one, other) == Interval(Fraction(50), Fraction(400))
    assert relative_change(Interval(Fraction(0), Fraction(1)), one) is None


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [("-0.004", 2, "0.00"), ("-0.005", 2, "−0.01"), ("12", 0, "12"), ("0.5", 0, "1"), ("99.995", 2, "100.00")],
)
def test_how_a_recomputed_figure_is_written(value: str, decimals: int, text: str) -> None:
    assert figure(Fraction(value), decimals) == text
