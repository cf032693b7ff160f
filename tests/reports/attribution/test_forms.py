"""Decompositions and attributions as JSON, CSV and figures."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.reports.attribution.samples import IDENTITY, UNREPLAYED, decomposition, evidence, explained, report

from toolablate.analysis.attribution.evidence import Explained
from toolablate.analysis.attribution.report import attribution_json, decompositions_csv, explained_json
from toolablate.reports.plots.waterfall import draw_decompositions
from toolablate.traces.errors import InputError


def test_json_has_decompositions_that_sum_and_a_line_for_every_trial() -> None:
    right = Explained(evidence(**UNREPLAYED), None)
    found = json.loads(
        attribution_json(report(explained=(explained(), right), simulated=frozenset({"m"}), unreplayed=1))
    )
    assert list(found) == [
        *(
            "design",
            "decompositions",
            "floors",
            "trials",
            "judged",
            "errors",
            "matrices",
            "unreplayed",
            "simulated",
            "notes",
            "rates",
            "forcing",
            "identified",
            "result_lengths",
            "calibrations",
        )
    ]
    (only,) = found["decompositions"]
    assert only["simulated"] is True
    assert sum(each["points"] for each in only["mechanisms"]) == pytest.approx(only["effect"]["points"])
    assert {each["name"]: each["attributed_as"] for each in only["mechanisms"]}["sampling_noise"] == "sampling_noise"
    assert found["design"]["successes"] == 0.3
    first, second = found["trials"]
    assert (first["trial"], first["replayed"], second["replayed"]) == (IDENTITY, True, False)
    assert first["attribution"]["mechanism"] == "retrieval_distraction"
    assert first["attribution"]["evidence"] == [1]
    assert first["hypotheses"][0]["method"] == "trace"
    assert second["attribution"] is None
    assert [(each["event"], each["right"]) for each in first["belief"]] == [(0, 1.0), (1, 0.875), (2, 0.0)]
    assert first["flip"]["step"] == 2
    assert second["flip"] is None


def test_json_of_one_trial_has_all_of_its_evidence() -> None:
    found = json.loads(explained_json(explained()))
    rollouts = found["evidence"]["inputs"]["replay"]["rollouts"]
    assert {tuple(each["swapped"]): each["scores"] for each in rollouts} == {
        (): [0, 0, 0, 1],
        ("search",): [1, 1, 1, 0],
    }
    assert found["evidence"]["shapley"] == {"1": {"value": -0.5, "standard_error": 0.2}}
    assert found["evidence"]["pivotal"]["without"] == [1, 1, 1, 0]
    assert found["attribution"]["turned_at"] == 1
    assert json.loads(explained_json(Explained(evidence(**UNREPLAYED), None)))["attribution"] is None


def test_csv_has_a_line_for_the_effect_each_term_and_each_mechanism() -> None:
    found = decomposition(model="=1+1")
    rows = list(csv.DictReader(io.StringIO(decompositions_csv([found], ["=1+1"]))))
    kinds = [row["kind"] for row in rows]
    assert kinds == ["effect", *["term"] * len(found.terms), *["mechanism"] * len(found.mechanisms)]
    assert {row["model"] for row in rows} == {"'=1+1"}
    assert {row["simulated"] for row in rows} == {"True"}
    assert float(rows[0]["points"]) == pytest.approx(found.effect.points)
    noise = next(row for row in rows if row["name"] == "sampling_noise" and row["kind"] == "mechanism")
    assert noise["p_value"] == ""


def test_a_figure_says_what_the_decomposition_says_and_is_the_same_each_time(tmp_path: Path) -> None:
    drawn = [decomposition(), decomposition(replayed=False, condition="$search$")]
    draw_decompositions(drawn, tmp_path / "a.svg", simulated=["m"])
    draw_decompositions(drawn, tmp_path / "b.svg", simulated=["m"])
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.svg").read_text(encoding="utf-8")
    assert "other content of code" in text, "by the names of the page"
    for wanted in ("retrieval distraction", "unresolved", "$search$", "SIMULATED", "240 of 240 trials replayed"):
        assert wanted in text
    assert f"\u2212{abs(drawn[0].effect.points):.1f}" in text


def test_the_effect_is_drawn_as_sure_as_its_whisker_says(tmp_path: Path) -> None:
    account = decomposition().effect
    draw_decompositions(
        [replace(decomposition(), mechanisms=(replace(account, name="sampling_noise"),))], tmp_path / "a.svg"
    )
    bars = re.findall(r'style="fill: #(\w+)(; opacity: 0\.4)?"', (tmp_path / "a.svg").read_text(encoding="utf-8"))
    assert ("999999", "") in bars
    assert ("d55e00", "; opacity: 0.4") in bars


def test_no_decomposition_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no effect to draw"):
        draw_decompositions([], tmp_path / "a.svg")
