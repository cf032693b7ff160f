"""Tells pages that take us for a robot, which many services send with status 200.

A page that found nothing repeats what was asked for, and suggests more like it: "who invented captcha" must not be
taken for a captcha. So words count only where the query does not have them, and besides them how a check is built.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

# DuckDuckGo's own word for it is "anomaly"; `challenge-platform` and `turnstile` are Cloudflare's.
_WORDS = ("anomaly-modal", "captcha", "challenge-platform", "unusual traffic", "are you a robot", "not a robot")
_BUILT_OF = re.compile(r"anomaly-modal|captcha|challenge-platform|cf-turnstile", re.IGNORECASE)
_ATTRIBUTES = ("id", "class", "name", "src", "action")
# `sorry` is Google's.
_ADDRESS = re.compile(r"captcha|/sorry/", re.IGNORECASE)
# Checks are small pages.
_CHECKED_CHARS = 500_000


def is_robot_check(text: str, query: str) -> bool:
    """Whether a page that holds no results is a robot check and no answer to the query."""
    root = _parsed(text[:_CHECKED_CHARS])
    if root is None:
        return False
    if any(_BUILT_OF.search(value) for value in _building(root)):
        return True
    said, asked = _plain(" ".join(root.itertext())), _plain(query)
    return any(word in said and word not in asked for word in _WORDS)


def leads_to_robot_check(location: str) -> bool:
    """Whether a redirect goes there; the address's own query does not count, which may hold ours."""
    try:
        parts = urlsplit(location)
    except ValueError:
        return False
    return _ADDRESS.search(f"{parts.netloc}{parts.path}") is not None


def _parsed(text: str) -> Any:
    """The root of a page, or None where there is no markup and no text."""
    from lxml.etree import HTMLParser, LxmlError, fromstring  # type: ignore[import-untyped]

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return fromstring(text.replace("\0", "").encode("utf-8", "replace"), parser)
    except LxmlError:
        return None


def _building(root: Any) -> Iterator[str]:
    """What a page is built of, without the queries of addresses."""
    for element in root.iter():
        for name in _ATTRIBUTES:
            value = element.get(name)
            if value:
                yield re.split(r"[?#]", value, maxsplit=1)[0]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
