"""Results of search and of the browser as a trace keeps them, which is as a model was shown them, read back."""

import re

from toolablate.tools.browser.page import Page
from toolablate.tools.frame import Entry

_ENTRY = re.compile(r"^\d+\. (.*)\n    (.+)(?:\n    (.*))?$", re.MULTILINE)
_HEADING = re.compile(r"\[[0-9a-f]{8}\] (.*) \((.*)\)")
_NUMBERED = re.compile(r"L\d+: ?")
_MARK = re.compile(r"【\d+†([^†】]*)(?:†[^】]*)?】")


def entries_of(output: str) -> tuple[Entry, ...]:
    """The results of a list; none where it is no list."""
    return tuple(Entry(found[0].partition(". ")[2], found[2].strip()) for found in _ENTRY.finditer(output))


def page_of(output: str) -> Page | None:
    """The lines that were shown of a page as a page, without its links; None where none were."""
    first, _, rest = output.partition("\n")
    heading = _HEADING.fullmatch(first)
    _, *lines = rest.split("\n")
    if heading is None or not lines:
        return None
    return Page.of(
        heading[2], heading[1], "\n".join(_MARK.sub(r"\1", _NUMBERED.sub("", line, count=1)) for line in lines)
    )
