"""What forums of all kinds have in common: their JSON is read, and posts become the texts of a thread."""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import unquote, urlencode

import lxml.html  # type: ignore[import-untyped]
from lxml.etree import ParserError  # type: ignore[import-untyped]
from pydantic import BaseModel, Field, ValidationError

from toolablate.experiments.construction.sources.apart import DocumentReader
from toolablate.experiments.construction.sources.forum_plan import Forum
from toolablate.experiments.construction.sources.forum_posts import PICTURE, drop_what_is_not_said, text_of
from toolablate.experiments.plans.sections import WebSection
from toolablate.tools.web import FetchError, HttpClient, follow
from toolablate.traces.errors import InputError

NO_JSON = "no_json"
MOST_PAGES = 1_000
"""Of a list."""


@dataclass(frozen=True, slots=True)
class Thread:
    """What a pipeline takes as one item. `names` are those of all who wrote in it."""

    question: str
    answer: str
    replies: tuple[str, ...]
    title: str
    url: str
    forum: str
    licence: str
    names: tuple[str, ...]

    def row(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self.__slots__}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A thread that is of another form than its forum's are; `reason` names it and says what is wrong with it."""

    url: str
    forum: str
    reason: str

    def row(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self.__slots__}


class ForumUnreadableError(Exception):
    """A forum that cannot be read on, with why; what was read of it before is kept. `code` is that of a `FetchError`,
    "no_json", or "" where JSON was read that is of another form. `for_good` tells that nothing was asked, since
    the plan or robots.txt keeps it from being asked: the same plan never will."""

    def __init__(self, message: str, code: str = "", *, for_good: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.for_good = for_good


def left_out(forum: Forum, url: str, why: str) -> LeftOut:
    return LeftOut(url, forum.name, f"{url} {why}")


# What is asked of a forum.


M = TypeVar("M", bound=BaseModel)


class Paged(BaseModel):
    """A page of a list. `backoff` is for how many seconds it asks to be left alone."""

    has_more: bool = False
    backoff: float = Field(default=0.0, ge=0, le=3_600)


class ForumReader:
    """Gets JSON of a known form. Waits as long as Stack Exchange's `backoff` asks for. `texts` reads HTML."""

    def __init__(self, client: HttpClient, web: WebSection, texts: DocumentReader) -> None:
        self.texts = texts
        self._client = client
        self._policy = web.policy
        self._not_before = 0.0

    async def get(self, kind: type[M], url: str, given: Mapping[str, Any] | None = None) -> M:
        import asyncio

        await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
        address = f"{url}?{urlencode(given, doseq=True)}" if given else url
        try:
            body = (await follow(address, self._client, self._policy)).body
            found = kind.model_validate(json.loads(body))
        except FetchError as error:
            for_good = error.policy and not error.transient
            raise ForumUnreadableError(error.message, error.code, for_good=for_good) from None
        except ValidationError as error:
            raise ForumUnreadableError(f"{url} {_another_form(error)}") from None
        # A number of thousands of digits is a ValueError of no other kind.
        except (ValueError, RecursionError):
            raise ForumUnreadableError(f"{url} is no JSON: is it a forum of this kind?", NO_JSON) from None
        if isinstance(found, Paged):
            self._not_before = time.monotonic() + found.backoff
        return found


def _another_form(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"is of another form: {'.'.join(map(str, first['loc']))}: {first['msg']}"


def of_form(kind: type[M], rows: Sequence[Any], key: str) -> tuple[list[M], dict[str, str]]:
    """Those of this form, and what is wrong with each other one, by what it has under `key`."""
    found, wrong = list[M](), dict[str, str]()
    for row in rows:
        try:
            found.append(kind.model_validate(row))
        except ValidationError as error:
            wrong[str(row.get(key, "?") if isinstance(row, dict) else "?")] = _another_form(error)
    return found, wrong


def threads_listed(
    forum: Forum, kind: type[M], rows: Sequence[Any], key: str, base: str = ""
) -> tuple[list[M], list[LeftOut]]:
    """The same of a list of threads, whose addresses are `base` and `key`. Raises ForumUnreadableError where none is of
    this form: then the forum is of another kind."""
    found, wrong = of_form(kind, rows, key)
    others = [left_out(forum, f"{base}{name}", why) for name, why in wrong.items()]
    if others and not found:
        raise ForumUnreadableError(others[0].reason)
    return found, others


def is_within(forum: Forum, moment: datetime) -> bool:
    try:
        day = moment.astimezone(UTC).date()
    except OverflowError:  # at either end of the calendar, where no forum was
        return False
    return (forum.since is None or day >= forum.since) and (forum.until is None or day <= forum.until)


# The texts of posts.


_CLASSES = "concat(' ', @class, ' ')"
_SPOILERS = f".//*[contains({_CLASSES}, ' spoiler ') or contains({_CLASSES}, ' spoiled ')]"
"""Of Discourse and Stack Exchange. `details` stay: what is folded there is long, such as a log, and no secret."""


def said_in(written: str) -> str:
    """The text of a post that is HTML; "" where there is none."""
    try:
        post = lxml.html.fromstring(f"<div>{written}</div>".replace("\0", ""))
    except (ParserError, ValueError):
        return ""
    drop_what_is_not_said(post)
    for spoiler in post.xpath(_SPOILERS):
        spoiler.drop_tree()
    return text_of(post, quotes_marked=True)


def read_posts(written: list[str]) -> tuple[list[str], list[str]]:
    """The text of each post, and who is named in them by the forum's own markup."""
    return [said_in(each) for each in written], [name for each in written for name in _named_in(each)]


_OF_A_PERSON = re.compile(r"/(?:u|users?|members?|profiles?)/(?:\d+/)?([^/?#]+)")


def _named_in(written: str) -> Iterator[str]:
    """Of whom Discourse quotes from another topic, and whose page a link leads to, where its text is like the address:
    "my profile" names nobody."""
    try:
        post = lxml.html.fromstring(f"<div>{written}</div>".replace("\0", ""))
    except (ParserError, ValueError):
        return
    yield from post.xpath(".//aside/@data-username")
    for link in post.iterfind(".//a[@href]"):
        of = _OF_A_PERSON.search(unquote(link.get("href")))
        text = " ".join(link.text_content().removeprefix("@").split())
        both = (_letters(of[1]), _letters(text)) if of else ("", "")
        if all(both) and (both[0] in both[1] or both[1] in both[0]):
            yield text


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


async def thread_of(
    forum: Forum,
    texts: DocumentReader,
    *,
    url: str,
    title: str,
    question: str,
    answer: str,
    replies: Sequence[str],
    names: Sequence[str],
    licence: str | None = None,
) -> Thread | LeftOut:
    """Posts are HTML."""
    try:
        (asked, said, *others), named = await texts.call(url, read_posts, [question, answer, *replies])
    except InputError as error:
        return LeftOut(url, forum.name, error.message)
    if not all(text.replace(PICTURE, "").strip("> \n") for text in (asked, said)):
        return left_out(forum, url, "has a question or an answer of pictures alone")
    return Thread(
        question=asked,
        answer=said,
        replies=tuple(filter(None, others)),
        title=" ".join(title.split()),
        url=url,
        forum=forum.name,
        licence=forum.licence if licence is None else licence,
        names=tuple(dict.fromkeys(filter(None, [*names, *named]))),
    )
