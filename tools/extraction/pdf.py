"""From PDF to text, page by page, in the order in which the file has it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolablate.tools.extraction.kinds import Unreadable

_PASSWORD = 4  # FPDF_ERR_PASSWORD
BROKEN_WORD = "\ufffe"
"""How PDFium writes a hyphen that broke a word at a line's end."""


def opened_pdf(content: bytes | Path) -> Any:
    """A `pypdfium2.PdfDocument`, to be closed. Raises Unreadable (`encrypted`, `broken`)."""
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD:
            raise Unreadable("encrypted", "it is a PDF file that needs a password") from None
        raise Unreadable("broken", "it is a PDF file that cannot be read") from None


def read_pdf(body: bytes, most: int) -> tuple[str, str]:
    """Title and text, of about `most` characters. Raises Unreadable (`encrypted`, `broken`, `no_text`)."""
    document = opened_pdf(body)
    try:
        pages = [text for text in _pages(document, most) if text.strip()]
        if not pages:
            raise Unreadable("no_text", f"it is a PDF file of {len(document)} pages of images without text")
        return document.get_metadata_value("Title"), "\n\n".join(pages)
    finally:
        document.close()


def _pages(document: Any, most: int) -> Iterator[str]:
    import pypdfium2

    for number in range(len(document)):
        if most <= 0:
            return
        try:
            page = document[number]
            shown = page.get_textpage()
        except pypdfium2.PdfiumError:
            continue  # one broken page does not spoil the others
        text: str = shown.get_text_range()
        shown.close()
        page.close()
        most -= len(text)
        yield whole_words(text)


def whole_words(text: str) -> str:
    """Words that a line's end broke are whole again."""
    return text.replace(f"{BROKEN_WORD}\r\n", "").replace(BROKEN_WORD, "")
