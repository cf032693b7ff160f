"""`toolablate report` by the real command, on the store of a real run."""

import html
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from tests.experiments.attribution.commands import run
from tests.formats.test_lm_eval import NO_SHOT, samples
from tests.made_once import made_once
from tests.viewer.keeping.reading import read_findings

from toolablate.cli import group
from toolablate.reports.numbers import signed
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.traces.store import Store

PLAN = """
ladder = ["python"]
repeats = 2
[questions]
file = "builtin"
limit = 8
[[models]]
name = "trusting_m%"
provider = "simulated"
playbook = "builtin"
literalness = 0.9
"""
Command = Callable[..., Result]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "reported", lambda folder: run(folder, PLAN)) / "s.sqlite"


def report(*arguments: object) -> Result:
    return CliRunner().invoke(group, ["report", *map(str, arguments)])


def written(*arguments: object) -> str:
    told = report(*arguments)
    assert told.exit_code == 0, (told.output, told.exception)
    return told.output


def refused(*arguments: object) -> InputError:
    told = report(*arguments)
    assert isinstance(told.exception, InputError), (told.output, told.exception)
    return told.exception


@pytest.mark.deep
def test_one_page_says_what_the_store_says_and_needs_nothing_else(ran: Path, tmp_path: Path) -> None:
    page = tmp_path / "new" / "r.html"
    assert f"{page} (" in written(ran, "-o", page)
    text = page.read_text(encoding="utf-8")
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text
    assert not re.search(r"<(script|link|iframe|object)\b", text)
    assert not re.search(r"(?:href|src)=\"(?!#|data:image/)", text)
    assert "Simulated, no measurement: trusting_m%" in text
    found = read_findings(ran)
    for arm in found.arms:
        assert f"<bdi>{arm.accuracy.percent:.1f}</bdi>" in text
    for row in found.comparisons:
        assert f"<bdi>{row.delta_points:+.1f}</bdi>".replace("-", "\u2212").replace("+0.0", "0.0") in text
    for section in ("Scores", "Effects against the baseline", "Flips", "Why", "Ladders", "How to read this"):
        assert re.search(rf"<h2 id=\"[\w-]+\">{section}</h2>", text), section
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', text)) <= set(ids)
    assert str(ran.parent) not in text
    assert page.stat().st_size < 5_000_000


@pytest.mark.deep
def test_figures_say_what_compare_and_attribute_say(ran: Path, tmp_path: Path) -> None:
    written(ran, "-o", tmp_path / "r.html", "--no-traces")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    told = [html.unescape(title) for title in re.findall("<title>([^<]*)</title>", text)]
    compared, attributed = (
        json.loads(CliRunner().invoke(group, [name, str(ran), "--json"]).output) for name in ("compare", "attribute")
    )
    overall = [row for row in compared["comparisons"] if not row.get("by")]
    assert overall
    for row in overall:
        low, high = row["ci95"]
        points = f"{signed(row['delta_points'])} points ({signed(low)} to {signed(high)}) against {row['baseline']}"
        assert [each for each in told if each.startswith(f"{row['model']} · {row['condition']}: {points}")], row
    named = [
        each for decomposition in attributed["decompositions"] for each in decomposition["mechanisms"] if each["points"]
    ]
    assert named
    for decomposition in attributed["decompositions"]:
        for each in decomposition["mechanisms"]:
            if each["points"] and each["ci95"]:
                low, high = each["ci95"]
                points = f" {signed(each['points'])} points ({signed(low)} to {signed(high)})"
                arm = f"{decomposition['model']} · {decomposition['condition']}: "
                assert [title for title in told if title.startswith(arm) and points in title], each


def test_the_same_store_gives_the_same_bytes(ran: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(ran, tmp_path / "s.sqlite"))
    for suffix in ("html", "md", "tex"):
        written(ran, "-o", tmp_path / f"a.{suffix}")
        written(copy, "-o", tmp_path / f"b.{suffix}")
        one, two = ((tmp_path / f"{name}.{suffix}").read_text(encoding="utf-8") for name in "ab")
        assert one == two.replace("b_files/", "a_files/"), suffix


def test_telling_flips_are_shown_and_trials_that_are_named(ran: Path, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    written(ran, "-o", page, "--traces", 2)
    text = page.read_text(encoding="utf-8")
    assert [name in text for name in ('id="t1"', 'id="t2"', 'id="t3"', 'id="d1"', 'id="d2"', 'id="d3"')] == [
        *(True, True, False, True, True, False)
    ]
    assert 'id="t1-event-0"' in text
    assert 'id="t2-event-0"' in text
    assert text.count("a guess from the trace: nothing was run again") == 2
    with Store(ran) as store:
        seen = store.summaries()
    same = [each.trial for each in seen if each.question == seen[0].question]
    other = next(each.trial for each in seen if each.question != seen[0].question)
    written(ran, "-o", page, "--trial", other[:12], "--diff", f"{same[0]},{same[1]}")
    text = page.read_text(encoding="utf-8")
    assert other[:16] in text
    assert [name in text for name in ('id="t1"', 'id="t2"', 'id="d1"', 'id="d2"')] == [True, False, True, False]
    written(ran, "-o", page, "--no-traces")
    assert 'id="t1"' not in page.read_text(encoding="utf-8")
    written(ran, "-o", page, "--diff", f"{same[0]},{same[1]}", "--traces", 1)
    text = page.read_text(encoding="utf-8")
    opened = re.findall(r'<details class="card (?:trace|pair)" id="(\w+)"( open)?>', text)
    assert opened == [("d1", " open"), ("d2", ""), ("t1", "")]
    pair = text[text.index('id="d1"') : text.index('id="d2"')]
    with Store(ran) as store:
        question = store.question(store.trace(same[0]).trial.question)
        verdicts = [score.verdict for trial in same[:2] for score in store.scores(trial)]
    assert question.choices
    assert question.target.kind == "choice"
    for choice in question.choices:
        assert f"<li>{html.escape(choice, quote=False)}</li>" in pair
    assert f"Right is <b><bdi>{question.target.letters[0]}" in pair
    heading = pair[: pair.index("</summary>")]
    assert re.findall(r'<span class="badge \w+">(\w+)</span>', heading) == verdicts
    assert heading.count("<bdi>") == 4
    told = refused(ran, "-o", page, "--diff", f"{same[0]},{other}")
    assert "different questions" in str(told)


def test_markdown_has_its_figures_beside_it(ran: Path, tmp_path: Path) -> None:
    written(ran, "-o", tmp_path / "r.md", "--title", "A *title*")
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert text.startswith("# A \\*title\\*\n")
    named = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", text)
    assert named
    for name in named:
        assert ElementTree.parse(tmp_path / name).getroot().tag.endswith("svg")
    assert "trusting\\_m%" in text


@pytest.mark.deep
def test_latex_and_every_figure_as_two_files(ran: Path, tmp_path: Path) -> None:
    written(ran, "-o", tmp_path / "r.tex", "--figures", tmp_path / "figures")
    assert r"trusting\_m\%" in (tmp_path / "r.tex").read_text(encoding="utf-8")
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"scores.svg", "scores.png", "effects.svg", "mechanisms.png", "ladders.svg"} <= names
    assert (tmp_path / "figures" / "scores.png").read_bytes().startswith(b"\x89PNG")
    assert "scores.png" in written(ran, "--figures", tmp_path / "others")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "where to"),
        (("-o", "r.pdf"), r"ends in '\.pdf'"),
        (("-o", "r.md", "--traces", "3"), "HTML alone"),
        (("-o", "r.html", "--traces", "3", "--no-traces"), "exclude each other"),
        (("-o", "r.html", "--diff", "abc"), "found 'abc'"),
        (("-o", "r.html", "--trial", "zzz"), "zzz"),
        (("-o", "r.html", "--run", "zzz"), "zzz"),
        (("-o", "r.html", "--baseline", "zzz"), "zzz"),
    ],
)
def test_what_cannot_be_done_is_said(
    ran: Path, arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert re.search(said, str(refused(ran, *arguments)))
    assert list(tmp_path.iterdir()) == []


def test_no_store_is_written_over(ran: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(ran, tmp_path / "s.html"))
    before = copy.read_bytes()
    assert "would be overwritten" in str(refused(ran, "-o", copy))
    assert "would be overwritten" in str(refused(copy, "-o", copy))
    assert copy.read_bytes() == before


def test_a_page_without_what_makes_pages_is_refused(ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith("toolablate.reports.report.html")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert to_install("view") in refused(ran, "-o", tmp_path / "r.html").hint
    written(ran, "-o", tmp_path / "r.tex")


def test_no_times_are_claimed_of_a_log_that_tells_none(tmp_path: Path) -> None:
    log, store, page = samples("sums", NO_SHOT), tmp_path / "s.sqlite", tmp_path / "r.html"
    assert CliRunner().invoke(group, ["import", "lm-eval", str(log), "--store", str(store)]).exit_code == 0
    with Store(store) as opened:
        trial = next(iter(opened.summaries(scorers=opened.scorers()[:1]))).trial
    written(store, "-o", page, "--trial", trial)
    text = page.read_text(encoding="utf-8")
    assert 'id="t1-event-0"' in text
    assert not re.search(r"\b0 s\b", text)
