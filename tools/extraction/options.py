"""What an extraction depends on besides the bytes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """`url` makes links absolute; `content_type` is the reply's header as sent. The same bytes and options give the
    same text.

    Elements deeper than `max_depth` are taken out and their text is left; more than 200 counts as 200, since the parser
    drops what lies deeper than 255. Text is cut at `max_chars`.
    """

    url: str = ""
    content_type: str = ""
    max_depth: int = 200
    max_chars: int = 2_000_000
