"""PDF files, written here object by object."""

import pytest

from toolablate.tools.extraction import ExtractionOptions, extract
from toolablate.traces.records import PageText

LINES = ["The harbour bridge opened a year late.", "See https://bridge.example/report for more."]


def pdf(pages: list[list[str]], *, title: str = "", trailer: str = "") -> bytes:
    """A file with a page for each list of lines."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {count} /Kids [{kids}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        shown = "".join(f"({line}) Tj 0 -20 Td " for line in lines)
        content = f"BT /F1 12 Tf 50 700 Td {shown}ET"
        resources = "/MediaBox [0 0 600 800] /Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R {resources} /Contents {5 + 2 * number} 0 R >>")
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< /Title ({title}) >>")
    body, offsets = "%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{one}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    end = f"trailer << /Size {size} /Root 1 0 R /Info {size - 1} 0 R {trailer} >>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("latin-1")


def read(body: bytes, content_type: str = "application/pdf", most: int = 2_000_000) -> PageText:
    return extract(body, ExtractionOptions(url="https://x.example/a.pdf", content_type=content_type, max_chars=most))


@pytest.mark.parametrize("content_type", ["application/pdf", "application/octet-stream", ""])
def test_pages_are_read_in_order(content_type: str) -> None:
    text = read(pdf([LINES, ["Second page."]], title="Bridge report"), content_type)
    assert text.text == "\n".join(LINES) + "\n\nSecond page."
    assert (text.method, text.title, text.code) == ("pdf", "Bridge report", "")
    (link,) = text.links
    assert link.url == text.text[link.start : link.end] == "https://bridge.example/report"


def test_a_scan_without_text_says_so() -> None:
    text = read(pdf([[], []]))
    assert text.code == "no_text"
    assert "2 pages" in text.reason


def test_a_file_that_needs_a_password_says_so() -> None:
    key = "A" * 64
    encryption = f"/Encrypt << /Filter /Standard /V 1 /R 2 /O <{key}> /U <{key}> /P -4 >> /ID [<00><00>]"
    assert read(pdf([LINES], trailer=encryption)).code == "encrypted"


@pytest.mark.parametrize("cut", [9, 60, 200])
def test_a_broken_file_says_so_or_gives_what_is_there(cut: int) -> None:
    text = read(pdf([LINES])[:cut])
    assert text.code in ("broken", "no_text")
    assert text.reason


def test_reading_stops_where_it_is_enough() -> None:
    text = read(pdf([LINES] * 200), most=500)
    assert len(text.text) <= 500
