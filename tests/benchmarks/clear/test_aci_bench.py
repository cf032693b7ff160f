"""Real clinical notes (ACI-Bench, CC BY 4.0): sections as items, two systems' notes, a judge by exact containment."""

import json
import re
from pathlib import Path

import pytest
from tests.benchmarks.conftest import DATA

from toolablate.analysis.checklist_measures import NA_RULES
from toolablate.analysis.checklists import Checklists, Sample, summarised
from toolablate.benchmarks.clear.judged_rows import read_judgements

NOTES = DATA / "aci_bench_test2.jsonl"
pytestmark = pytest.mark.skipif(not NOTES.exists(), reason=f"{NOTES.name} is not in {DATA} (set TOOLABLATE_DATA)")

SECTIONS = {
    "HPI": r"HISTORY OF PRESENT ILLNESS|HPI",
    "Exam": r"PHYSICAL EXAM(?:INATION)?",
    "Results": "RESULTS",
    "Assessment": r"ASSESSMENT(?: AND PLAN)?|IMPRESSION",
}
HEADING = re.compile(r"^\W*([A-Za-z][A-Za-z /&]{2,40}?)\s*:?\s*$", re.MULTILINE)


def sections(note: str) -> dict[str, str]:
    """The text under each section's heading, up to the next of any."""
    marks = [match for match in HEADING.finditer(note) if match[1].isupper() or match[0].rstrip().endswith(":")]
    found = dict.fromkeys(SECTIONS, "N/A")
    ends = [*(mark.start() for mark in marks[1:]), len(note)]
    for mark, end in zip(marks, ends, strict=False):
        text = " ".join(note[mark.end() : end].split())
        for name, pattern in SECTIONS.items():
            if re.fullmatch(pattern, mark[1].strip(), re.IGNORECASE) and text:
                found[name] = text
    return found


def rows(of: str, *, swapped: bool = False) -> list[dict[str, object]]:
    made: list[dict[str, object]] = []
    for line in NOTES.read_text(encoding="utf-8").splitlines():
        note = json.loads(line)
        references = sections(note["note"])
        answers = references if of == "note" else sections(note["predictions"][of])
        for name in SECTIONS:
            reference, mapped = references[name], answers[name]
            if swapped:
                reference, mapped = mapped, reference
            replies = {
                "model_contains_reference": "Yes" if reference in mapped else "No",
                "reference_contains_model": "Yes" if mapped in reference else "No",
            }
            row = {"sample": note["id"], "item": name, "reference": reference, "mapped": mapped}
            made.append(row | {"replies": {"exact": replies}})
    return made


def samples(folder: Path, found: list[dict[str, object]]) -> tuple[Sample, ...]:
    path = folder / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in found), encoding="utf-8")
    judged = read_judgements(path)
    assert not judged.lacking
    return judged.samples


def values(found: Checklists) -> dict[str, float | None]:
    return {name: figure.value for name, figure in found.figures.items()}


def systems() -> list[str]:
    return list(json.loads(NOTES.read_text(encoding="utf-8").splitlines()[0])["predictions"])


def test_a_reference_is_right_by_every_rule(tmp_path: Path) -> None:
    found = samples(tmp_path, rows("note"))
    assert len(found) == 40
    for rule in NA_RULES:
        whole = summarised(found, rule, resamples=0)
        assert (values(whole)["f1"], values(whole)["coverage"]) == (1, 1)
        assert values(whole)["overfill"] == 0


def test_systems_fill_sections_and_hardly_one_is_contained(tmp_path: Path) -> None:
    """By the published rule what both leave out is right; without such items next to nothing is."""
    for system in systems():
        found = samples(tmp_path, rows(system))
        paid, out = (summarised(found, rule, resamples=0) for rule in ("published", "out"))
        coverage, silent = paid.figures["coverage"].value, paid.silent["f1"]
        assert coverage is not None
        assert silent is not None
        assert 0 < coverage < 1
        assert values(out)["f1"] == pytest.approx(0, abs=0.05)
        both_silent = sum(not item.expected and not item.filled for sample in found for item in sample.judged["exact"])
        contained = sum(item.precision and item.expected for sample in found for item in sample.judged["exact"])
        assert values(paid)["precision"] == pytest.approx((both_silent + contained) / 160)
        assert values(paid)["f1"] < silent, "who says nothing has more"


def test_exchanged_sides_exchange_precision_and_recall(tmp_path: Path) -> None:
    for system in systems():
        one = values(summarised(samples(tmp_path, rows(system)), "published", resamples=0))
        other = values(summarised(samples(tmp_path, rows(system, swapped=True)), "published", resamples=0))
        assert (one["precision"], one["recall"], one["f1"]) == pytest.approx(
            (other["recall"], other["precision"], other["f1"])
        )
        backwards = rows(system)[::-1]
        assert values(summarised(samples(tmp_path, backwards), "published", resamples=0)) == pytest.approx(one)
