"""Pages and regions of books that are PDF files: real ones, and those written here line by line."""

import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.construction.writing import run

from toolablate.experiments.construction.book_worlds import book_worlds
from toolablate.experiments.construction.sources.book_pages import pages_of
from toolablate.experiments.construction.sources.book_regions import regions_of
from toolablate.experiments.construction.statement_stages import load_statement_items
from toolablate.traces.errors import InputError

BOOKS = Path(os.environ.get("TOOLABLATE_BOOKS", "/usr/share/doc"))
GLPK = BOOKS / "glpk-doc" / "glpk.pdf"
ANNOTATIONS = BOOKS / "c++-annotations" / "cplusplus.pdf"

Set = tuple[float, float, str, float, str]
"""From the left and from the top in points, font (R, B, C or S), size, text."""
FONTS = {"R": "Helvetica", "B": "Helvetica-Bold", "C": "Courier"}


_SMALLER = ") Tj /R 7 Tf {} Ts (\\1) Tj /R 10 Tf 0 Ts ("
"""Between two pieces of a line of size 10."""
_ACCENTED = r") Tj [-110 (\\310) 443 (\1)] TJ ("
"""A diaeresis, then back, and the letter below it."""


def escaped(text: str) -> str:
    text = text.replace("(", r"\(").replace(")", r"\)")
    text = re.sub(r"\^{(.*?)}", _SMALLER.format(4), text)
    text = re.sub(r"_{(.*?)}", _SMALLER.format(-2), text)
    return re.sub(r"¨(\w)", _ACCENTED, text)


def book(pages: list[list[Set]], turned: bool = False, dots: Sequence[tuple[float, float]] = ()) -> bytes:
    """A PDF file of pages of 400 by 600 points; `turned` ones are written sideways, and shown upright (/Rotate 90).
    `dots` are drawn on each."""
    width, height = (600, 400) if turned else (400, 600)
    fonts = " ".join(f"/{key} << /Type /Font /Subtype /Type1 /BaseFont /{name} >>" for key, name in FONTS.items())
    # Of one glyph, which stands for no letter, as LaTeX's bitmap fonts have bullets.
    glyph = 3 + 2 * len(pages)
    fonts += (
        " /S << /Type /Font /Subtype /Type3 /FontBBox [0 0 500 500] /FontMatrix [.001 0 0 .001 0 0] /FirstChar 136 "
        f"/LastChar 136 /Widths [500] /Encoding << /Differences [136 /a136] >> /CharProcs << /a136 {glyph} 0 R >> >>"
    )
    kids = " ".join(f"{3 + 2 * n} 0 R" for n in range(len(pages)))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>"]
    for number, lines in enumerate(pages):
        said = "\n".join(
            f"BT /{font} {size} Tf {f'0 1 -1 0 {y} {x}' if turned else f'1 0 0 1 {x} {600 - y}'} Tm ({escaped(text)}) Tj ET"
            for x, y, font, size, text in lines
        )
        said += "".join(f"\n{y - 4 if turned else x} {x if turned else 600 - y} 4 4 re f" for x, y in dots)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Rotate {90 * turned} "
            f"/Resources << /Font << {fonts} >> >> /Contents {4 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(said)} >>\nstream\n{said}\nendstream")
    square = "500 0 0 0 500 500 d1 0 100 400 400 re f"
    objects.append(f"<< /Length {len(square)} >>\nstream\n{square}\nendstream")
    written, places = "%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(written))
        written += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(written)}\n%%EOF\n"
    return f"{written}xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("latin-1")


def lines(top: float, *texts: str, left: float = 50, font: str = "R") -> list[Set]:
    return [(left, top + 12 * n, font, 10, text) for n, text in enumerate(texts)]


PAGES = [
    [
        (50, 30, "R", 10, "CHAPTER 2. GRAPHS 1"),
        (50, 60, "B", 14, "2.1 Trees"),
        *lines(90, "Definition 2.1 (Forest). A forest is a graph in which", "no path leads back to where it began."),
        *lines(130, "Theorem 3. Each finite tree of at least two vertices has", "at least two leaves."),
        *lines(170, "A binary tree is a rooted tree in which each vertex has at most", "two children."),
        *lines(210, "A tree can be walked in these orders:"),
        *lines(236, "1. preorder, the root first;", left=60),
        *lines(256, "2. postorder, the root last.", left=60),
        *lines(290, "for (auto v : tree) visit(v);", "return 0;", font="C"),
        *lines(330, "There are two rules for leaves."),
        *lines(356, "- A leaf is removed by cutting the one edge that it has in the", left=60),
        *lines(368, "whole tree.", left=70),
        *lines(390, "- A new leaf is put at the end of a path, and this makes the path", left=60),
    ],
    [
        *lines(60, "longer by one edge, so that its ends are", left=70),
        *lines(72, "further apart.", left=70),
        *lines(110, "This is said of all trees, and is no definition of anything."),
        (200, 570, "R", 10, "2"),
    ],
    [],
]
REGIONS = {
    "Forest": "A forest is a graph in which no path leads back to where it began.",
    "Theorem": "Each finite tree of at least two vertices has at least two leaves.",
    "binary tree": "A binary tree is a rooted tree in which each vertex has at most two children.",
    "Trees": "A tree can be walked in these orders:\n1. preorder, the root first;\n2. postorder, the root last.",
}
ITEMS = (
    "A leaf is removed by cutting the one edge that it has in the whole tree.",
    "A new leaf is put at the end of a path, and this makes the path longer by one edge, so that its ends are further "
    "apart.",
)


@pytest.mark.parametrize("turned", [False, True])
def test_regions_are_cut_where_the_book_sets_them_apart(turned: bool, tmp_path: Path) -> None:
    path = tmp_path / "trees.pdf"
    path.write_bytes(book(PAGES, turned))
    pages = list(pages_of(path))
    assert [page.number for page in pages] == ["1", "2", "3"]
    found = list(regions_of(pages))
    said = [each.text.partition(":\n") for each in found]
    assert {name: text for name, _, text in said[:4]} == REGIONS
    assert [(name, text) for name, _, text in said[4:]] == [("Trees", text) for text in ITEMS]
    kinds = ["definition", "theorem", "definition", "list", "list", "list"]
    assert [each.kind for each in found] == kinds
    assert [[index for index, _ in each.boxes] for each in found] == [[0]] * 5 + [[0, 1]]
    # Of the first: its first line's top is some 83 points below the upper edge.
    ((_, box),) = found[0].boxes
    left, top, right, bottom = box
    assert left == pytest.approx(50, abs=2)
    assert 80 < top < 90 < 102 < bottom < 106
    assert 250 < right < 350


def test_a_heading_that_begins_with_its_page_s_number_is_no_running_head(tmp_path: Path) -> None:
    item = "- It leaks less than a drop in a minute at full speed."
    body = lines(100, "There are rules for each of the parts.", item, "They are old.")
    heads = [
        ("B", 14, "1 Pumps"),
        ("B", 14, "2 Seals"),
        ("R", 10, "PUMPS AND SEALS 3"),
        ("R", 14, "4 of 5"),
        ("R", 14, "5 of 5"),
    ]
    path = tmp_path / "seals.pdf"
    path.write_bytes(book([[(50.0, 60.0, *head), *body] for head in heads]))
    pages = list(pages_of(path))
    assert [page.text.partition("\n")[0] for page in pages] == ["1 Pumps", "2 Seals", *[body[0][4]] * 3]
    assert [page.lines[0].text for page in pages] == ["1 Pumps", "2 Seals", *[body[0][4]] * 3]
    assert [each.text.partition(":")[0] for each in regions_of(pages)] == ["Pumps", *["Seals"] * 4]


def test_regions_of_a_book_of_short_paragraphs_are_found(tmp_path: Path) -> None:
    """The gap between two paragraphs is the commonest step there."""
    said = "Theorem {}. A tree of so many vertices has one edge less than that", "and is not a ring."
    short = [lines(60 + 24 * n, "A tree is green.") for n in range(8)]
    longer = [lines(260 + 36 * n, said[0].format(n), said[1]) for n in range(3)]
    path = tmp_path / "short.pdf"
    path.write_bytes(book([[line for each in (*short, *longer) for line in each]]))
    found = list(regions_of(list(pages_of(path))))
    assert [each.text for each in found] == [
        "Theorem:\nA tree of so many vertices has one edge less than that and is not a ring."
    ] * 3


@pytest.mark.parametrize("turned", [False, True])
def test_lists_whose_bullets_are_drawn_are_lists(turned: bool, tmp_path: Path) -> None:
    path = tmp_path / "drawn.pdf"
    items = (
        "A torch with a flame which heats the work from",
        "below.",
        "A bath of water which stands left of the bench.",
    )
    page = [(50.0, 40.0, "B", 14.0, "2.1 Tools"), *lines(64, "The tools are:"), *lines(84, *items, left=70)]
    path.write_bytes(book([page], turned, dots=[(58, 83), (58, 107), (300, 300)]))
    found = list(regions_of(list(pages_of(path))))
    assert [(each.kind, each.text) for each in found] == [
        ("list", "Tools:\nA torch with a flame which heats the work from below."),
        ("list", f"Tools:\n{items[2]}"),
    ]


def test_items_without_a_stop_are_one_statement_with_what_introduces_them(tmp_path: Path) -> None:
    path = tmp_path / "unstopped.pdf"
    items = ("the mass of the body", "its volume and its entropy", "its inner energy")
    page = [(50.0, 40.0, "B", 14.0, "2.1 Heat"), *lines(64, "The following quantities are extensive:")]
    for number, item in enumerate(items):
        page += lines(84 + 20 * number, item, left=70)
    page += lines(160, "Other words follow here, and say what else there is to say.")
    path.write_bytes(book([page], dots=[(58, 83 + 20 * number) for number in range(3)]))
    (found,) = regions_of(list(pages_of(path)))
    assert found.text == "\n".join(
        ("Heat:", "The following quantities are extensive:", *(f"• {item}" for item in items))
    )


def run_in(top: float, head: str, *rest: str) -> list[Set]:
    """A paragraph that begins in bold type, in one line with what follows."""
    return [(50, top, "B", 10, head), (50 + 7 * len(head), top, "R", 10, rest[0]), *lines(top + 12, *rest[1:])]


def test_a_bold_head_needs_no_point_and_a_label_is_no_name(tmp_path: Path) -> None:
    path = tmp_path / "heads.pdf"
    page = [
        (50.0, 40.0, "B", 14.0, "2.1 Numbers"),
        *run_in(70, "Biot number", "is the ratio of the resistance inside a body", "to that at its surface."),
        *run_in(110, "Fourier number", "It is the ratio of the time passed to the", "time that heat needs to diffuse."),
        *run_in(150, "Example:", "Suppose that a rod of copper is heated at its end", "for an hour."),
        *run_in(190, "Note:", "Both numbers have no unit, since they are ratios of", "the same quantity."),
        *run_in(230, "They", "were found by many people over two centuries, and named", "after some of them."),
    ]
    path.write_bytes(book([page]))
    assert [each.text for each in regions_of(list(pages_of(path)))] == [
        "Biot number:\nBiot number is the ratio of the resistance inside a body to that at its surface.",
        "Fourier number:\nIt is the ratio of the time passed to the time that heat needs to diffuse.",
        "Numbers:\nBoth numbers have no unit, since they are ratios of the same quantity.",
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_what_is_raised_or_lowered_keeps_its_meaning(turned: bool, tmp_path: Path) -> None:
    path = tmp_path / "moles.pdf"
    said = ["A mole is a set of 6.022 x 10^{23} parts, and each litre of", "H_{2}O has 10^{-7} moles at pH 7."]
    marked = [
        "A chapter of textbooks^{3} is one of ten that say so.^{4} The x^{2} of",
        "the 2^{nd} has no note^{*}, as 10^{8} has none.",
        "Its energy is (1/2) mass speed^{2} there.",
    ]
    path.write_bytes(book([[*lines(60, *said), *lines(100, *marked)]], turned))
    (page,) = pages_of(path)
    assert page.text.split("\n") == [
        "A mole is a set of 6.022 x 10^23 parts, and each litre of",
        "H_2O has 10^(-7) moles at pH 7.",
        # A mark of a note says nothing without the note; but what may be a power is never lost.
        "A chapter of textbooks [3] is one of ten that say so. The x^2 of",
        "the 2nd has no note, as 10^8 has none.",
        "Its energy is (1/2) mass speed^2 there.",
    ]
    assert [line.text for line in page.lines] == page.text.split("\n")
    found = [each.text.partition(":\n")[2] for each in regions_of([page])]
    assert found[0] == "A mole is a set of 6.022 x 10^23 parts, and each litre of H_2O has 10^(-7) moles at pH 7."


def test_small_type_on_the_line_and_a_large_initial_are_no_scripts(tmp_path: Path) -> None:
    path = tmp_path / "initial.pdf"
    page = [(50, 60, "R", 30, "T"), (68, 48, "R", 10, "he tree is as old as the house"), (50, 90, "R", 10, "N")]
    path.write_bytes(book([[*page, (57.3, 90, "R", 7, "ASA"), (73, 90, "R", 10, "says so.")]]))
    (read,) = pages_of(path)
    assert "^" not in read.text
    assert "_" not in read.text
    assert "he tree is as old as the house" in read.text


def test_accents_that_stand_on_a_letter_are_its_own(tmp_path: Path) -> None:
    path = tmp_path / "accents.pdf"
    path.write_bytes(book([lines(60, "Gr¨osse and M¨uhle; \xc8 alone, \xc8o beside.")]))
    (page,) = pages_of(path)
    assert page.text == "Grösse and Mühle; ¨ alone, ¨o beside."


def test_a_bullet_whose_font_names_no_letter_is_one(tmp_path: Path) -> None:
    path = tmp_path / "glyphs.pdf"
    items = ("A torch heats the work from below with a flame.", "A bath of water stands left of the bench.")
    page = [(50.0, 40.0, "B", 14.0, "2.1 Tools"), *lines(64, "There are two tools on each bench.")]
    for number, item in enumerate(items):
        page += [(60, 90 + 20 * number, "S", 10, "\\210"), *lines(90 + 20 * number, item, left=72)]
    path.write_bytes(book([page]))
    pages = list(pages_of(path))
    assert [each.text for each in regions_of(pages)] == [f"Tools:\n{item}" for item in items]
    assert [line for line in pages[0].text.split("\n") if line.startswith("•")] == [f"• {item}" for item in items]


def test_a_book_without_regions_says_what_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "plain.pdf"
    path.write_bytes(book([[*lines(60, "They walked on.", "It rained."), *lines(110, "return 0;", font="C")]]))
    told = run("pages", path, "-o", tmp_path / "b.jsonl", "--regions", tmp_path / "r.jsonl", "--discipline", "E").stderr
    assert "0 regions" in told
    assert "2 blocks were told apart by gaps and indents: 1 in the type of most text, 0 headings, 1 programs" in told
    assert "0 with a head in bold type, 0 named a definition or theorem" in told


def test_pages_and_regions_are_what_a_pipeline_of_statements_reads(tmp_path: Path) -> None:
    path = tmp_path / "trees.pdf"
    path.write_bytes(book(PAGES))
    output, regions = tmp_path / "book.jsonl", tmp_path / "statements.jsonl"
    more = ("--regions", regions, "--discipline", "Mathematics", "--title", "On trees")
    told = run("pages", path, "-o", output, *more).stderr
    assert "2 pages, 1 without text" in told
    assert "6 regions (3 list, 2 definition, 1 theorem)" in told
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert [row["title"] for row in rows] == ["On trees, page 1", "On trees, page 2"]
    items = load_statement_items(regions)
    assert all(each["boxes"] and each["book"] == "On trees" for each in items.values())
    contents = {item: {**each, "false": {"text": "X:\nIt is false."}} for item, each in items.items()}
    # Also that which goes on over the page's end.
    assert len(book_worlds(output, contents).found) == 6


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"<html>No PDF", "not_pdf"),
        (b"%PDF-1.4 cut off", "pdf_broken"),
        (None, "pdf_missing"),
        (book([[], []]), "pdf_no_text"),
    ],
)
def test_what_is_no_book_is_refused_by_name(content: bytes | None, code: str, tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    if content is not None:
        path.write_bytes(content)
    found = run("pages", path, "-o", tmp_path / "book.jsonl", code=1)
    error = found.exception
    assert isinstance(error, InputError)
    assert (error.code, str(path) in str(error)) == (code, True)
    assert not (tmp_path / "book.jsonl").exists()
    assert ("cut off" in str(error.hint)) == (code == "pdf_broken")


def _pages(path: Path, package: str) -> list[Any]:
    if not path.exists():
        pytest.skip(f"no {path} (apt-get install {package}, or set TOOLABLATE_BOOKS to its folder)")
    return list(pages_of(path))


@pytest.mark.deep
def test_a_real_book_is_read() -> None:
    pages = _pages(GLPK, "glpk-doc")
    assert len(pages) == 177
    assert all(page.text for page in pages)
    found = list(regions_of(pages))
    assert Counter(each.kind for each in found)["list"] >= 25
    scripts = "where: x_1, x_2, . . . , x_m are auxiliary variables; x_(m+1), x_(m+2), . . . , x_(m+n) are structural"
    assert scripts in pages[8].text
    assert "The GLPK LP/MIP format is a DIMACS-like format. The file in this format" in "\n".join(
        each.text for each in found
    )
    on_page = [each.text.partition(":\n")[2] for each in found if each.page.number == "31"]
    assert len(on_page) == 6
    assert on_page[3] == (
        "If the name index exists, it is automatically updated every time the name of a row/column is assigned/changed. "
        "The update operation takes logarithmic time."
    )
    assert {each.page.section for each in found if each.page.number == "31"} == {"Row and column searching routines"}


@pytest.mark.deep
def test_a_textbook_of_a_thousand_pages_is_read() -> None:
    pages = _pages(ANNOTATIONS, "c++-annotations-pdf")
    assert len(pages) == 1_151
    assert sum(not page.text for page in pages) < 25, "those between chapters"
    found = list(regions_of(pages))
    assert len(found) > 800
    assert min(Counter(each.kind for each in found)[kind] for kind in ("list", "definition", "named")) > 30
    of_types = {each.text.partition(":\n")[2]: each.page for each in found}
    page = of_types[
        'L can be used as prefix to indicate a character string whose elements are wchar_t-type characters. For example: L"hello world".'
    ]
    assert (page.number, page.section) == ("58", "The data type `bool'")
