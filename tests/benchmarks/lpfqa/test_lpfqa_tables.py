"""`lpfqa tables`: the papers' table of domains out of a real store, ranks beside other benchmarks, and files."""

import asyncio
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from examples.published_tables.files import PUBLISHED, load_published
from tests.benchmarks.lpfqa.boards import columns, percents
from tests.traces import samples
from tests.traces.pages import SAFE

from toolablate.benchmarks.lpfqa.scoreboard import OtherBenchmark
from toolablate.benchmarks.lpfqa.stored import read_others, read_tables
from toolablate.cli import group
from toolablate.reports.plots.radar import RadarLine, RadarPoint, draw_radar
from toolablate.traces.errors import InputError
from toolablate.traces.records import Answer, OpenAIModel, Question, Trial, Usage
from toolablate.traces.store import Recorder

EVIL = "\x1b]52;c;AAAA\x07\x1b[2J[red]x[/nonsense]\u202e\x00"
PAPER = load_published(PUBLISHED["lpfqa_v2"])
TABLE = PAPER.table("2")
AVERAGE = "All Models Avg"
DOMAINS = {
    "Life Sci": 72,
    "Maths": 61,
    "Natural Sci": 96,
    "Social Sci": 43,
    "EE": 59,
    "Applied Tech": 38,
    "CS": 58,
    "": 3,
}
"""Table 1 has 71, 97 and 62 questions of Life Sci, Natural Sci and EE; no count of right answers to these gives most
rows of table 2, and these do. Three of the 430 are then of no domain, and overall scores want them."""
QWENS = ("Qwen-3-235B-Instruct", "Qwen3-235B-Thinking")
FEWER = {"Life Sci": 69, "Maths": 60, "Natural Sci": 95, "EE": 58}
"""What the scores of these two models are shares of: the others, it seems, had no answer."""
UNREACHED = {("Qwen-3-235B-Instruct", "Overall"): "49.09", ("Qwen3-235B-Thinking", "Overall"): "46.85"}
"""Printed, and the mean of no such domains: 49.09 is a share of no count of 413 to 430 questions."""


def printed(model: str, domain: str) -> str:
    cell = TABLE.cell(next(row for row in TABLE.rows if row.name == model), domain)
    assert cell is not None
    return cell.text


def asked(model: str, domain: str) -> int:
    return FEWER.get(domain, DOMAINS[domain]) if model in QWENS else DOMAINS[domain]


def counts(model: str) -> dict[str, int]:
    """Right answers by domain, of which there is but one number for each printed cell; in no domain what the overall
    score wants."""
    found = {}
    for domain in filter(None, DOMAINS):
        of = asked(model, domain)
        fitting = [count for count in range(of + 1) if f"{100 * count / of:.2f}" == printed(model, domain)]
        assert len(fitting) == 1, (model, domain)
        found[domain] = fitting[0]
    overall = round(float(printed(model, "Overall")) * 430 / 100)
    found[""] = 0 if model in QWENS else overall - sum(found.values())
    assert 0 <= found[""] <= 3
    return found


async def fill(path: Path, models: list[str]) -> None:
    questions = tuple(
        samples.question(number, domain=domain)
        for number, domain in enumerate(domain for domain, count in DOMAINS.items() for _ in range(count))
    )
    by_domain = {domain: [each for each in questions if each.domain == domain] for domain in DOMAINS}
    known = [OpenAIModel(name=name) for name in models]
    planned = samples.trials(questions, tuple(known), (samples.NONE,))
    with Recorder(path) as recorder:
        run = samples.run().model_copy(update={"baseline": "none"})
        recorder.plan(run, questions, list(known), [samples.NONE], planned)
        results = {model.identity(): dict(_results(model.name, by_domain)) for model in known}
        for start in range(0, len(planned), 50):
            of_these = planned[start : start + 50]
            await asyncio.gather(*(_attempt(recorder, trial, results) for trial in of_these))
        values = [(trial, results[trial.model][trial.question]) for trial in planned]
        await recorder.score([samples.score(trial, value) for trial, value in values if value is not None])


def _results(model: str, by_domain: dict[str, list[Question]]) -> Iterator[tuple[str, float | None]]:
    """None where infrastructure spoiled the trial."""
    rights, dice = counts(model), random.Random(model)
    for domain, of_domain in by_domain.items():
        questions = dice.sample(of_domain, len(of_domain))
        for number, question in enumerate(questions):
            yield question.identity(), None if number >= asked(model, domain) else float(number < rights[domain])


async def _attempt(recorder: Recorder, trial: Trial, results: dict[str, dict[str, float | None]]) -> None:
    session = await samples.begun(recorder, trial)
    failed = results[trial.model][trial.question] is None
    if not failed:
        session.record(Answer(at=0.5, text="Answer: A"))
    await session.finish("failed" if failed else "answered", 1.0, Usage(), 0.0)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lpfqa") / "store.sqlite"
    asyncio.run(fill(path, [row.name for row in TABLE.body]))
    return path


def ran(*arguments: str | Path) -> Result:
    return CliRunner().invoke(group, ["lpfqa", "tables", *map(str, arguments)], env={"COLUMNS": "120"})


@pytest.mark.deep
def test_table_2_is_printed_to_the_digit_where_answers_can_give_it(store: Path) -> None:
    found = columns(read_tables(store).scoreboard)
    apart = {}
    for column in (each.name for each in TABLE.columns):
        cells = percents(found["" if column == "Overall" else column].scores)
        apart |= {
            (row.name, column): printed(row.name, column)
            for row in TABLE.body
            if cells[row.name] != printed(row.name, column)
        }
    assert apart == UNREACHED
    means = {each.name: found["" if each.name == "Overall" else each.name].mean for each in TABLE.columns}
    averages = {name: (printed(AVERAGE, name), f"{mean:.2f}") for name, mean in means.items()}
    assert {name: both for name, both in averages.items() if both[0] != both[1]} == {
        "CS": ("41.26", "43.10"),
        "Applied Tech": ("44.97", "44.98"),
        "Overall": ("48.96", "48.92"),
    }
    best = {name: column.highest for name, column in found.items() if name}
    assert best == {
        "Life Sci": ("Claude-Sonnet-4.5-Thinking",),
        "Maths": ("GPT-5-High",),
        "Natural Sci": ("GPT-5-High",),
        "Social Sci": ("GPT-5-High",),
        "EE": ("GLM-4.6",),
        "Applied Tech": ("Gemini-3-Pro", "Qwen-3-235B-Instruct", "Seed-1.6-Thinking"),
        "CS": ("Gemini-3-Pro",),
    }


def test_the_page_has_the_table_and_what_to_know_before_reading_it(store: Path) -> None:
    page = ran(store)
    assert page.exit_code == 0, page.output
    assert re.search(r"GPT-5-High +▲\*52\.63|GPT-5-High +\*52\.63", page.output)
    assert re.search(r"Gemini-3-Pro +▲\*57\.89 +▲48\.28 +57\.63 +45\.83 +47\.54 +55\.21 +48\.84", page.output)
    assert re.search(r"questions +38 +58 +59 +72 +61 +96 +43", page.output)
    flat = " ".join(page.output.split())
    assert "Without a score that others have: Qwen-3-235B-Instruct 6, Qwen3-235B-Thinking 6." in flat
    assert "Biased: these questions are chosen by the results that they score." in flat
    assert "EE 59 GLM-4.6" not in flat
    assert re.search(r"EE +59 +\d\d\.\d\d GLM-4\.6 +64\.41 Seed-1\.6-Thinking +42\.37", page.output)


@pytest.mark.deep
def test_ranks_beside_other_benchmarks_by_name(store: Path, tmp_path: Path) -> None:
    table = PAPER.table("10")
    names = ("MMLU-Pro", "HLE")
    rows = [[row.name, *(table.cell(row, name).text for name in names)] for row in table.body]  # type: ignore[union-attr]
    as_csv, as_toml = tmp_path / "others.csv", tmp_path / "others.toml"
    as_csv.write_text("\n".join(map(",".join, [["model", *names], *rows])), encoding="utf-8")
    tables = [
        f'["{name}"]\n' + "\n".join(f'"{row[0]}" = {row[at]}' for row in rows) for at, name in enumerate(names, 1)
    ]
    as_toml.write_text("\n".join(tables), encoding="utf-8")
    assert read_others(as_csv) == read_others(as_toml)
    found = json.loads(ran(store, "--beside", as_csv, "--json").output)["beside"]
    assert [other["benchmark"] for other in found] == list(names)
    for other in found:
        ranks = {row["model"]: (row["rank"], row["other_rank"]) for row in other["rows"]}
        for row in table.body:
            cells = [table.cell(row, name) for name in ("LPFQA rank", f"{other['benchmark']} rank")]
            assert ranks[row.name] == tuple(int(cell.text) for cell in cells if cell is not None)
        assert other["correlation"]["exact"]
        assert other["rows"][0]["ranks95"] == [1, 7]
    page = " ".join(ran(store, "--beside", as_toml).output.split())
    assert "Over 7 models: Spearman's rho 0.47 (p .2913), Kendall's tau-b 0.39 (p .3000); p from all orders" in page
    assert "Without a score there: Qwen-3-235B-Instruct, Gemini-2.5-Pro, GPT-4.1, Seed-1.6-Thinking." in page


def test_json_and_csv_have_the_same_figures(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "domains.csv"
    found = json.loads(ran(store, "--json", "--csv", out).output)
    assert 430 - 12 <= len(found["tiers"]["questions"]) == found["filtered"]["sets"][0]["questions"]
    assert {each["tier"] for each in found["tiers"]["questions"]} <= {"easy", "medium", "hard"}
    lines = out.read_text("utf-8").splitlines()
    assert len(lines) == 1 + 11 * 9
    assert "\nGPT-5-High,domain,Maths,61,63.9344262295082," in "\n".join(lines)


def test_a_store_is_never_written_over(store: Path) -> None:
    refused = ran(store, "--csv", store)
    assert isinstance(refused.exception, InputError)
    assert "--csv" in str(refused.exception)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--baseline", "python"), "No trial under 'python' has a score"),
        (("--scorer", "nobody"), "There are no scores by a scorer 'nobody'"),
        (("--run", "zzz"), "--run: 'zzz' is not one run"),
        (("--beside", "no.csv"), "--beside: no.csv: cannot be read: No such file or directory"),
        (("--beside", "scores.json"), "--beside: scores.json: ends neither in .toml nor in .csv"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(store: Path, arguments: tuple[str, ...], said: str) -> None:
    refused = ran(store, *arguments)
    assert isinstance(refused.exception, InputError)
    assert str(refused.exception).startswith(said)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "", "1: should name the benchmarks behind the first column, each once; found ''"),
        ("a.csv", "model,A,A\nx,1,2", "1: should name the benchmarks behind the first column, each once"),
        ("a.csv", "model;A\nx;1", "1: should name the benchmarks"),
        ("a.csv", "model,A\n\nx,1\nx,2", "4: the model 'x' stands above already"),
        ("a.csv", "model,A\nx,1,2", "2: has 3 cells; the first line has 2"),
        ("a.csv", "model,A\n,1", "2: has no model"),
        ("a.csv", "model,A\nx,many", "2: the score on 'A' should be a number, or a dash for none; found 'many'"),
        ("a.csv", "model,A\nx,nan", "2: the score on 'A' should be a number"),
        ("a.csv", 'model,A\n"x,1', "2: is not valid CSV"),
        ("a.toml", "", " names no benchmark"),
        ("a.toml", "[A\n", " is not valid TOML"),
        ("a.toml", "x = 1", "1: 'x' should be a table of models; found '1'"),
        ("a.toml", "[A]\nx = 1\n\n['B c']\nx = true", "5: 'x' of 'B c' should be a number; found 'True'"),
        ("a.toml", '[A]\nx = 1\n"y.z" = "7"', "3: 'y.z' of 'A' should be a number; found '7'"),
        ("a.toml", "[A]\nx = inf", "2: 'x' of 'A' should be a number; found 'inf'"),
        ("a.toml", f"[A]\nx = 1{'0' * 400}", "2: 'x' of 'A' should be a number"),
        ("a.toml", "a = " + "[" * 5000, " is nested too deeply"),
        ("a.toml", f'["{EVIL.encode("unicode_escape").decode()}"]\nx = "y"'.replace("\\x", "\\u00"), "2: 'x' of "),
    ],
)
def test_scores_of_other_benchmarks_are_refused_by_line(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_others(path)
    assert refused.value.message.startswith(f"--beside: {path}:{said}")
    assert SAFE.fullmatch(refused.value.message)
    assert "model,MMLU-Pro,HLE" in refused.value.hint


def test_a_score_may_be_missing_and_a_bad_byte_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\ufeffmodel,A,B\nx,1,-\ny,,2.5\n", encoding="utf-8")
    assert read_others(path) == [OtherBenchmark("A", {"x": 1.0}), OtherBenchmark("B", {"y": 2.5})]
    path.write_bytes(b"model,A\n\xff,1")
    with pytest.raises(InputError, match="cannot be read"):
        read_others(path)


@pytest.mark.deep
def test_the_domain_table_is_drawn_as_a_radar(store: Path, tmp_path: Path) -> None:
    for name in ("radar.svg", "again.svg", "radar.png"):
        done = ran(store, "--plot", tmp_path / "figures" / name)
        assert done.exit_code == 0, done.output
    drawn = (tmp_path / "figures/radar.svg").read_text(encoding="utf-8")
    assert drawn == (tmp_path / "figures/again.svg").read_text(encoding="utf-8")
    for said in ("GPT-5-High", "Life Sci (72)", "EE (59)", "Scores by domain under none", "95 % intervals"):
        assert said in drawn
    assert (tmp_path / "figures/radar.png").read_bytes().startswith(b"\x89PNG")
    assert "ends in '.gif'" in str(ran(store, "--plot", tmp_path / "radar.gif").exception)


def test_a_radar_of_two_domains_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs three groups of questions; there are 2"):
        draw_radar(["a", "b"], [RadarLine("m", [RadarPoint(None, None)] * 2)], tmp_path / "x.svg", title="t")
    alone = RadarLine(EVIL, [RadarPoint(50.0, (40.0, 60.0)), RadarPoint(None, None), RadarPoint(0.0, None)])
    draw_radar(["a", EVIL, "c"], [alone], tmp_path / "x.svg", title=EVIL)
    ElementTree.parse(tmp_path / "x.svg")
