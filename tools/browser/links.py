"""Links as a model sees them in a line of text, in the form that gpt-oss was trained on.

`【3†anchor】` leads to a page on the same host, `【3†anchor†host】` to another host. An anchor that goes on in the next
line is marked there again, under the same number, so that each line can be read by itself. Chinese text is full of
these brackets and stays as it is, but what a page wrote cannot pass for a link: where a bracket is followed by a number
and a dagger it becomes `[`, and a dagger inside an anchor becomes a double one.
"""

import re
from functools import lru_cache
from urllib.parse import urlsplit

from toolablate.tools.browser.page import Page
from toolablate.tools.marks import without_marks
from toolablate.tools.plain import one_line

HOST_CHARS = 60


def marked_line(page: Page, number: int) -> str:
    """A line of the page with its links marked, without blanks at its end."""
    line = page.lines[number]
    if not page.links:
        return without_marks(line).rstrip()
    parts: list[str] = []
    position = 0
    for link, start, end in page.links_of_line(number):
        parts.append(without_marks(line[position:start]))
        parts.append(_marked(page, link, line[start:end]))
        position = end
    parts.append(without_marks(line[position:]))
    return "".join(parts).rstrip()


def _marked(page: Page, link: int, anchor: str) -> str:
    """Blanks at the ends of an anchor stay outside of the brackets; nothing but blanks is no link to see."""
    words = anchor.strip()
    if not words:
        return anchor
    before, _, after = anchor.partition(words)
    host = _host(page.links[link].url)
    shown = words.replace("†", "‡")
    elsewhere = "" if host == _host(page.url) else f"†{host}"
    return f"{before}【{link}†{shown}{elsewhere}】{after}"


@lru_cache(maxsize=8_192)
def _host(url: str) -> str:
    """Host and port, or the scheme of what has no host (`mailto`); whatever stands before an @ is no part of it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "?"
    host = parts.netloc.rpartition("@")[2].lower() or parts.scheme or "?"
    return re.sub(r"[【】†]", "?", one_line(host, HOST_CHARS))
