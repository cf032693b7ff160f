"""The tables of a report, and what Markdown and LaTeX make of them."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.reports.attribution.samples import decomposition
from tests.reports.plots.samples import HOSTILE, endings, findings
from tests.reports.report.samples import LATEX, report

from toolablate.analysis.findings import AttributedCount, Why
from toolablate.reports.plots.figures import plates
from toolablate.reports.report.html import as_html
from toolablate.reports.report.latex import as_latex, breaking, layout
from toolablate.reports.report.latex import escaped as in_latex
from toolablate.reports.report.markdown import as_markdown
from toolablate.reports.report.markdown import escaped as in_markdown
from toolablate.reports.report.report_tables import blocks, caption, tables
from toolablate.reports.tables import Column

FOUND = findings()


def test_tables_say_what_findings_say() -> None:
    by_name = {table.name: table for table in tables(FOUND, endings(FOUND))}
    assert list(by_name) == [
        *("scores", "effects", "flips", "outcomes", "why-1", "why-2", "ladder-1", "domains"),
    ]
    for table in by_name.values():
        assert all(len(row) == len(table.columns) for row in table.rows), table.name
    row, compared = by_name["effects"].rows[1], FOUND.comparisons[1]
    assert row[:3] == ("m", "python", "60")
    assert row[5] == f"{compared.delta_points:+.1f}".replace("-", "\u2212")
    assert by_name["scores"].rows[0][1] == "none (baseline)"
    assert by_name["scores"].rows[3][0] == "n (simulated)"
    assert by_name["outcomes"].rows[0][2:] == ("60", "50", "0", "6", "0", "0", "4", "0")
    assert by_name["flips"].rows[0][2:6] == ("30", "12", "8", "10")
    assert FOUND.why is not None
    assert by_name["why-1"].rows[-1][0] == "effect"
    assert len(by_name["domains"].rows) == 2 * 2 * 3
    assert by_name["domains"].figures == ("domains", "domains-2")
    assert caption(by_name["why-2"]) == "Why: n (simulated), python"


def test_nothing_known_is_no_table() -> None:
    nothing = replace(FOUND, arms=(), comparisons=(), floors=(), flips=(), by_domain=(), waterfalls=(), why=None)
    assert list(tables(nothing)) == []


@pytest.mark.deep
def test_without_replays_it_is_counted_what_traces_tell() -> None:
    guessed = (
        AttributedCount("m", "search", "lock_in", "trace", 2),
        AttributedCount("m", "search", "sampling_noise", "trace", 7),
        AttributedCount("n", "python", "sampling_noise", "trace", 1),
    )
    unreplayed = decomposition(replayed=False, model="m", condition="search")
    unknown = tuple(each for each in unreplayed.mechanisms if each.name == "unresolved")
    unreplayed = replace(unreplayed, mechanisms=unknown)
    found = replace(FOUND, why=Why(decompositions=(unreplayed,), attributed=guessed))
    assert [plate.name for plate in plates(found) if plate.name.startswith("mechanisms")] == []
    (table,) = [each for each in tables(found) if each.section == "Why"]
    assert (table.title, table.columns[-1].title) == (
        "what wrong trials are attributed to, by trace",
        "Wrong trials",
    )
    assert table.rows == (
        ("m", "search", "sampling noise, as without tools", "7"),
        ("m", "search", "computational lock-in", "2"),
        ("n (simulated)", "python", "sampling noise, as without tools", "1"),
    )
    assert "toolablate attribute STORE --replay" in table.notes[-1]
    mine = replace(report(), findings=found)
    for text in (as_markdown(mine), as_latex(mine), as_html(mine)):
        assert "sampling noise, as without tools" in text
        assert "by trace" in text
        assert "unresolved</bdi>" not in text

    measured = (
        AttributedCount("m", "search", "sampling_noise", "replay", 4),
        AttributedCount("m", "search", "tool_fault", "replay", 1),
    )
    both = replace(FOUND, why=replace(FOUND.why, attributed=(*guessed, *measured)))
    assert [each.title for each in tables(both) if each.section == "Why"][-1] == "what wrong trials are attributed to"
    table = [each for each in tables(both) if each.section == "Why"][-1]
    assert [each.title for each in table.columns[3:]] == ["Wrong trials", "By replay", "By trace"]
    assert table.rows[0] == ("m", "search", "sampling noise, as without tools", "11", "4", "7")
    assert table.rows[2] == ("m", "search", "tool fault", "1", "1", "0")

    table = [each for each in tables(replace(found, imported=True)) if each.section == "Why"][-1]
    assert "--replay" not in " ".join(table.notes)
    assert "cannot be asked again" in table.notes[-1]


@pytest.mark.deep
@pytest.mark.parametrize("conditions", [3, 25])
def test_where_a_figure_leaves_rows_out_there_is_a_link_to_all(conditions: int) -> None:
    named = ["none", *(f"search-{number}" for number in range(conditions))]
    decompositions = [
        replace(decomposition, condition=name) for decomposition in FOUND.why.decompositions[:1] for name in named[1:]
    ]
    mine = report(("m",), named)
    page = as_html(replace(mine, findings=replace(mine.findings, why=Why(decompositions=tuple(decompositions)))))
    links, ids = re.findall(r'href="#([^"]*)"', page), re.findall(r' id="([^"]*)"', page)
    assert set(links) <= set(ids)
    assert len(ids) == len(set(ids))
    assert ("rows-why-1" in links) is (conditions == 25)


@pytest.mark.deep
def test_markdown_has_every_table_and_its_figures() -> None:
    text = as_markdown(report(), {"scores": "r_files/scores.svg", "mechanisms": "r_files/mechanisms.svg"})
    lines = text.splitlines()
    assert lines[0] == "# Report of m"
    assert (
        "> **Simulated, no measurement: n. Simulated models imitate one, and say nothing of any that exists.**" in lines
    )
    assert "![Scores](r_files/scores.svg)" in lines
    assert text.count("r_files/mechanisms.svg") == 1
    for heading in ("## Scores", "## Flips", "## Why: m, python", "## Notes", "## How to read this"):
        assert heading in lines
    head = lines.index("| Model | Condition | Questions | Score, % | 95 % interval |")
    assert lines[head + 1] == "| --- | --- | ---: | ---: | ---: |"
    assert "What to know first." in text


@pytest.mark.deep
def test_names_in_markdown_are_text() -> None:
    text = as_markdown(report((HOSTILE, "b|*x*[y](http://z) @me :smile: www.z"), ("none", "`|`\n# x")))
    assert not re.search(r"(?<!\\)<script", text)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    assert in_markdown("b|*x*[y](http://z) @me :smile: www.z") == (r"b\|\*x\*\[y\](http\://z) \@me \:smile: www\.z")
    for line in text.splitlines():
        if line.startswith("| ") and "---" not in line:
            cells = re.split(r"(?<!\\)\|", line)
            assert len(cells) in (7, 11, 12, 13, 9, 10), line
    assert in_markdown("`|`\n# x") == r"\`\|\` \# x"


@pytest.mark.deep
def test_names_in_latex_are_text() -> None:
    assert in_latex(LATEX) == r"a\_b\%\$\#\&\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}"
    assert in_latex("[2cm]") == "{[}2cm{]}"
    assert in_latex("é 漢字 x\u202e") == "é \\beyondlatin{漢字} x\\textbf{?}"
    assert len(in_latex("x" * 200)) < 50
    text = as_latex(report((LATEX, HOSTILE), ("none", "]$x$[--")))
    body = [line for line in text.splitlines() if not line.startswith(("%", r"\providecommand"))]
    assert not [line for line in body if re.search(r"(?<!\\)[%$#_^~]", line)]


@pytest.mark.parametrize("engine", ["pdflatex", "lualatex"])
def test_latex_compiles(tmp_path: Path, engine: str) -> None:
    if shutil.which(engine) is None or not _installed("booktabs.sty", "longtable.sty"):
        pytest.skip("no LaTeX with booktabs (apt-get install texlive-latex-recommended)")
    found = as_latex(report((LATEX, HOSTILE), ("none", "[1]*", "é漢\u202e")))
    compiled(engine, found, tmp_path)


@pytest.mark.parametrize("engine", ["pdflatex", "lualatex"])
def test_no_table_is_wider_than_its_page(tmp_path: Path, engine: str) -> None:
    if shutil.which(engine) is None or not _installed("booktabs.sty", "longtable.sty", "array.sty"):
        pytest.skip("no LaTeX with booktabs (apt-get install texlive-latex-recommended)")
    conditions = ("none", "search_with_a_long_name:placebo:of-others", "x" * 200, "W" * 90, HOSTILE)
    found = as_latex(report(("a-model-with-quite-a-long-name/instruct-v3.2", "W" * 130), conditions))
    told = compiled(engine, found, tmp_path)
    beyond = map(float, re.findall(r"Overfull .hbox \(([\d.]+)pt", told))
    assert [points for points in beyond if points > 3] == []


def compiled(engine: str, tables: str, folder: Path) -> str:
    """What the engine tells."""
    packages = r"\usepackage[T1]{fontenc}\usepackage{textcomp,array,booktabs,longtable}"
    document = "\n".join((r"\documentclass{article}", packages, r"\begin{document}", tables, r"\end{document}"))
    (folder / "r.tex").write_text(document, encoding="utf-8")
    command = [engine, "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "r.tex"]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=300)
    assert told.returncode == 0, told.stdout[-2000:]
    assert (folder / "r.pdf").exists()
    return told.stdout


def test_text_wraps_where_a_table_would_be_too_wide_and_titles_of_figures_do() -> None:
    columns = (Column("Condition", ()), Column("Effect, points", (), right=True), Column("n", (), right=True))
    short = layout(columns, [("none", "+1.0", "5")])
    assert (short.columns, short.titles[1], short.broken) == ("lrr", ("Effect,", "points"), (False, False, False))
    long = layout(columns, [("x" * 100, "+1.0", "5")])
    assert re.sub(r"[\d.]+em", "_", long.columns) == (
        r">{\raggedright\arraybackslash}p{1.000\dimexpr\linewidth-_\relax}rr"
    )
    assert long.broken == (True, False, False)
    many = (*columns, *(Column("Detectable", (), right=True) for _ in range(6)))
    assert (long.size.name, layout(many, [("x" * 50, *"12345678")]).size.name) == ("footnotesize", "scriptsize")


def test_a_line_may_end_after_signs_and_within_what_is_long() -> None:
    assert breaking("search_of:placebos (a)") == r"search\_\allowbreak{}of:\allowbreak{}placebos (a)"
    assert breaking("computation") == "computation"
    assert breaking("x" * 20) == r"xxxxxx\allowbreak{}xxxxxx\allowbreak{}xxxxxxxx"


@pytest.mark.parametrize("engine", ["pdflatex", "lualatex"])
def test_names_in_other_scripts_are_whole_where_the_engine_reads_them(tmp_path: Path, engine: str) -> None:
    if shutil.which(engine) is None:
        pytest.skip(f"no {engine} (apt-get install texlive-latex-recommended)")
    found = as_latex(report(("通义千问",), ("无工具", "搜索")))
    (command,) = [line for line in found.splitlines() if line.startswith(r"\providecommand{\beyondlatin}")]
    assert "LuaLaTeX or XeLaTeX" in found
    assert "beyondlatin" not in as_latex(report(("é",), ("none", "search")))
    shown = r"\setbox0\hbox{\beyondlatin{通}}\setbox2\hbox{\textbf{?}}\message{\ifdim\wd0=\wd2 mark\else name\fi}"
    document = ("\\documentclass{article}", command, "\\begin{document}", shown, "x\\end{document}")
    (tmp_path / "r.tex").write_text("\n".join(document), encoding="utf-8")
    told = subprocess.run(
        [engine, "-interaction=nonstopmode", "-halt-on-error", "r.tex"], cwd=tmp_path, capture_output=True, timeout=100
    )
    assert told.returncode == 0
    assert (b"mark" if engine == "pdflatex" else b"name") in told.stdout


@pytest.mark.deep
def test_models_are_headings_of_blocks_and_come_in_one_order() -> None:
    found = report(("z", "a"), ("none", "zoom", "search"))
    columns, several = blocks(next(tables(found.findings)))
    assert columns[0].title == "Condition"
    assert [(each.heading, len(each.rows)) for each in several] == [("z", 3), ("a (simulated)", 3)]
    assert found.findings.why is not None
    last = found.findings.why.decompositions[1]
    decompositions = (last, *found.findings.why.decompositions[:1], replace(last, condition="zoom"))
    turned = replace(found.findings, why=Why(decompositions=decompositions))
    whys = [table for table in tables(turned) if table.section == "Why"]
    assert [table.title for table in whys] == ["z, search", "a (simulated), zoom", "a (simulated), search"]
    assert [table.figures for table in whys] == [("mechanisms",), ("mechanisms-2",), ("mechanisms-2",)]
    assert blocks(whys[0])[1][0].heading == ""


@pytest.mark.deep
def test_an_address_of_a_figure_is_one_for_markdown() -> None:
    text = as_markdown(report(("m",), ("none", "search")), {"scores": "a (b) #1 ]_files/scores.svg"})
    assert "![Scores](a%20%28b%29%20%231%20%5D_files/scores.svg)" in text


def _installed(*names: str) -> bool:
    told = subprocess.run(["kpsewhich", *names], capture_output=True, text=True, timeout=30)
    return len(told.stdout.split()) == len(names)
