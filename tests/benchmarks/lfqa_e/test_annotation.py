"""The page for a person: nothing tells which answer is which, and what it saves is read as a metric."""

import json
import re
from pathlib import Path

from click.testing import CliRunner
from tests.benchmarks.lfqa_e.comparing import OLDER, UNIFIED, XU, written

from toolablate.benchmarks.lfqa_e.annotation import annotation_page
from toolablate.benchmarks.lfqa_e.comparisons import load_comparisons
from toolablate.cli import group

ROWS = [
    {
        **UNIFIED,
        "id": str(n),
        "question": f"Why {n}?",
        "response_a": f"good {n} </script><b>",
        "response_b": f"poor {n}",
    }
    for n in range(8)
]


def test_pairs_come_in_random_order_without_labels_and_no_text_ends_its_script(tmp_path: Path) -> None:
    comparisons = load_comparisons(written(tmp_path / "rows.json", *ROWS, OLDER, XU))
    page = annotation_page(comparisons)
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    pairs = json.loads(found[1])["pairs"]
    assert {pair["id"] for pair in pairs} == {each.id for each in comparisons}
    assert [pair["id"] for pair in pairs] != [each.id for each in comparisons]
    assert {pair["exchanged"] for pair in pairs} == {True, False}
    assert all({"label", "setting"}.isdisjoint(pair) for pair in pairs)
    by_id = {each.id: each for each in comparisons}
    for pair in pairs:
        each = by_id[pair["id"]]
        assert (pair["second"], pair["first"]) == ((each.a, each.b) if pair["exchanged"] else (each.b, each.a))
    assert annotation_page(comparisons) == page
    assert annotation_page(comparisons, seed=1) != page


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    rows, page = written(tmp_path / "rows.json", *ROWS), tmp_path / "page.html"
    shown = CliRunner().invoke(group, ["lfqa-e", "annotate", str(rows), "-o", str(page), "--limit", "3"])
    assert shown.output == f"{page}: 3 comparisons\n"
    assert page.read_text(encoding="utf-8").count("</script>") == 2
    refused = CliRunner().invoke(group, ["lfqa-e", "annotate", str(rows), "-o", str(page / "page.html")])
    assert "cannot make the folder" in str(refused.exception)
    refused = CliRunner().invoke(group, ["lfqa-e", "annotate", str(rows), "-o", str(rows)])
    assert "is the file that is read" in str(refused.exception)
