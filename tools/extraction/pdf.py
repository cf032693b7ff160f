"""From PDF to text, page by page, in the order in which the file has it."""

from collections.abc import Iterator

from toolablate.tools.extraction.unreadable import Unreadable

_PASSWORD = 4  # FPDF_ERR_PASSWORD


def read_pdf(body: bytes, most: int) -> tuple[str, str]:
    """Title and text, of about `most` characters. Raises Unreadable (`encrypted`, `broken`, `no_text`)."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD:
            raise Unreadable("encrypted", "it is a PDF file that needs a password") from None
        raise Unreadable("broken", "it is a PDF file that cannot be read") from None
    try:
        pages = [text for text in _pages(document, most) if text.strip()]
        if not pages:
            raise Unreadable("no_text", f"it is a PDF file of {len(document)} pages of images without text")
        return document.get_metadata_value("Title"), "\n\n".join(pages)
    finally:
        document.close()


def _pages(document: object, most: int) -> Iterator[str]:
    import pypdfium2

    for number in range(len(document)):  # type: ignore[arg-type]
        if most <= 0:
            return
        try:
            page = document[number]  # type: ignore[index]
            shown = page.get_textpage()
        except pypdfium2.PdfiumError:
            continue  # one broken page does not spoil the others
        text: str = shown.get_text_range()
        shown.close()
        page.close()
        most -= len(text)
        # U+FFFE is how PDFium writes a hyphen that broke a word at a line's end.
        yield text.replace("\ufffe\r\n", "").replace("\ufffe", "")
