"""Pages and books that would keep a reader for ever cost themselves alone, and are named with the limit."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.experiments.construction.test_forum_threads import Forums, fetch, forums, written  # noqa: F401

from toolablate.cli import group
from toolablate.experiments.construction.sources import apart
from toolablate.experiments.construction.sources.apart import ReadingLimits, read_apart
from toolablate.experiments.construction.sources.forum_posts import posts_of
from toolablate.traces.errors import InputError

ATTRIBUTES = f"<p {' '.join(f'a{n}' for n in range(300_000))}>"
"""libxml2 compares each attribute with all before it."""


def of_forms(depth: int) -> bytes:
    """A PDF page with a form that draws ten times a form that draws ten times a form."""
    ten = b"/F Do " * 10
    form = b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F %d 0 R >> >> /Length %d >>"
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /F 5 0 R >> >> >>"
    )
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        page,
        b"<< /Length 5 >>\nstream\n/F Do\nendstream",
        *(form % (number, len(ten)) + b"\nstream\n" + ten + b"\nendstream" for number in range(6, 6 + depth)),
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Length 12 >>\nstream\n0 0 5 5 re f\nendstream",
    ]
    written = b"%PDF-1.4\n"
    for number, each in enumerate(objects, start=1):
        written += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    return written + b"trailer << /Root 1 0 R >>\n%%EOF"


def refused(*args: object) -> InputError:
    found = CliRunner().invoke(group, ["build", *map(str, args)])
    assert isinstance(found.exception, InputError), (found.output, found.exception)
    return found.exception


def test_a_tag_with_attributes_without_end_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "OF_A_PAGE", ReadingLimits(0.3, 1 << 30))
    page = tmp_path / "thread.html"
    page.write_text(f"<html><body>{ATTRIBUTES}</body></html>", encoding="utf-8")
    error = refused("posts", page)
    assert error.code == "document_limit"
    assert str(page) in error.message
    assert "0.3 s of the processor and 1,024 MB" in error.message


def test_forms_that_branch_without_end_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "OF_A_BOOK", ReadingLimits(0.3, 300 << 20))
    book = tmp_path / "book.pdf"
    book.write_bytes(of_forms(2))
    assert "none of its 1 page has text" in refused("pages", book, "-o", tmp_path / "book.jsonl").message
    book.write_bytes(of_forms(12))
    error = refused("pages", book, "-o", tmp_path / "book.jsonl")
    assert error.code == "document_limit"
    assert str(book) in error.message
    assert "0.3 s of the processor and 300 MB" in error.message


def test_a_thread_with_such_a_post_is_left_out(
    forums: Forums,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = forums.answer

    def answer(path: str, query: dict[str, list[str]]) -> Any:
        found = original(path, query)
        if path == "/t/1.json":
            found["post_stream"]["posts"][5]["cooked"] = ATTRIBUTES[:1_000_000]
        return found

    forums.answer = answer  # type: ignore[method-assign]
    monkeypatch.setattr(
        "toolablate.experiments.construction.sources.forum_threads.OF_A_PAGE", ReadingLimits(0.3, 1 << 30)
    )
    found = fetch(written(tmp_path, forums))
    assert "Batteries: 2 new threads" in found.stderr
    assert "/t/1 cannot be read: its text could not be extracted in 0.3 s" in found.stderr


def test_what_a_reader_refuses_it_refuses_apart(tmp_path: Path) -> None:
    limits = ReadingLimits(5.0, 1 << 30)
    with pytest.raises(InputError, match="the page has no elements") as refused:
        read_apart("page", limits, posts_of, "")
    assert refused.value.code == "empty_page"
    assert read_apart("page", limits, posts_of, "<p>Nothing repeats here.</p>") == []
