"""Threads of forums that publish them as JSON: Discourse, and Stack Exchange by its API 2.3. Each becomes a question
with its accepted answer."""

import json
import re
import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar
from urllib.parse import unquote, urlencode

import lxml.html  # type: ignore[import-untyped]
from lxml.etree import ParserError  # type: ignore[import-untyped]
from pydantic import BaseModel, Field, ValidationError, model_validator

from toolablate.experiments.construction.plan_files import load_plan
from toolablate.experiments.construction.sources.apart import OF_A_PAGE, DocumentReader, apart
from toolablate.experiments.construction.sources.forum_posts import PICTURE, drop_what_is_not_said, text_of
from toolablate.experiments.construction.sources.proposals import ProposedForum
from toolablate.experiments.plans.sections import Section, WebSection
from toolablate.experiments.record_file import RowFile
from toolablate.tools.web import FetchError, HttpClient, follow
from toolablate.traces.errors import InputError
from toolablate.traces.paths import PathText


class _Forum(ProposedForum):
    """`name` and `licence` go with each item. Threads from `since` to `until` with at least so many `views`, `replies`
    and `votes`; of these the output has at most `limit`."""

    url: str = Field(min_length=1)
    since: date | None = None
    until: date | None = None
    views: int = Field(default=0, ge=0)
    replies: int = Field(default=1, ge=1)
    votes: int = 0
    limit: int = Field(default=100, gt=0)

    @property
    def address(self) -> str:
        return self.url

    @model_validator(mode="after")
    def _samples_are_threads(self) -> Self:
        for each in self.samples:
            sample_number(each)
        return self


_SAMPLE = re.compile(r"/(?:t/(?:[^/?#]*/)?|questions/)(\d{1,12})(?:[/?#.]|$)")


def sample_number(url: str) -> str:
    """A thread's number at its forum. Raises ValueError."""
    if (found := _SAMPLE.search(url)) is None:
        raise ValueError(f"samples: {url!r} is no address of a thread: has /t/NAME/NUMBER or /questions/NUMBER in it")
    return found[1]


class DiscourseForum(_Forum):
    kind: Literal["discourse"]


class StackExchangeForum(_Forum):
    """`site` is the name of one of its sites: "chemistry". `key` is an application's: 10,000 requests a day for 300. It
    is public by the API's own documentation."""

    kind: Literal["stackexchange"]
    url: str = "https://api.stackexchange.com/2.3"
    site: str = Field(min_length=1)
    key: str = ""

    @property
    def address(self) -> str:
        return f"{self.url} {self.site}"


Forum = Annotated[DiscourseForum | StackExchangeForum, Field(discriminator="kind")]


class ForumsPlan(Section):
    """`output` is the JSONL of items, which a pipeline reads. `web` is as in plans: pace, robots, private hosts."""

    output: PathText = "pairs.jsonl"
    forums: tuple[Forum, ...] = Field(min_length=1)
    web: WebSection = WebSection()


def load_forums(path: Path) -> ForumsPlan:
    """Relative paths are relative to its folder. Raises InputError that names the key, what was found and what is
    allowed."""
    plan = load_plan(ForumsPlan, path, "build threads")
    return plan.model_copy(update={"output": str(path.parent.resolve() / plan.output)})


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


async def threads_of(
    forum: Forum,
    client: HttpClient,
    web: WebSection,
    texts: DocumentReader,
    known: frozenset[str],
    limit: int,
    *,
    samples: bool = False,
) -> AsyncIterator[Thread | LeftOut]:
    """At most so many of questions with an accepted answer, but those whose addresses are `known`, and those that
    cannot be read; with `samples` of the forum's sample threads alone. Raises ForumUnreadableError."""
    if limit <= 0:
        return
    reader = _Json(client, web, texts)
    numbers = [sample_number(each) for each in forum.samples]
    if forum.kind == "discourse":
        found = _discourse_samples(forum, reader, known, numbers) if samples else _discourse(forum, reader, known)
    else:
        found = _stack_exchange(forum, reader, known, numbers if samples else ())
    number = 0
    async for thread in found:
        yield thread
        number += isinstance(thread, Thread)
        if number == limit:
            return


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


M = TypeVar("M", bound=BaseModel)


class _Json:
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
            raise ForumUnreadableError(f"{url} is no JSON: is it a forum of this kind?", _NO_JSON) from None
        if isinstance(found, _StackPage):
            self._not_before = time.monotonic() + found.backoff
        return found


def _another_form(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    return f"is of another form: {'.'.join(map(str, first['loc']))}: {first['msg']}"


def _of_form(kind: type[M], rows: Sequence[Any], key: str) -> tuple[list[M], dict[str, str]]:
    """Those of this form, and what is wrong with each other one, by what it has under `key`."""
    found, wrong = list[M](), dict[str, str]()
    for row in rows:
        try:
            found.append(kind.model_validate(row))
        except ValidationError as error:
            wrong[str(row.get(key, "?") if isinstance(row, dict) else "?")] = _another_form(error)
    return found, wrong


def _listed(
    forum: Forum, kind: type[M], rows: Sequence[Any], key: str, base: str = ""
) -> tuple[list[M], list[LeftOut]]:
    """The same of a list of threads, whose addresses are `base` and `key`. Raises ForumUnreadableError where none is of
    this form: then the forum is of another kind."""
    found, wrong = _of_form(kind, rows, key)
    others = [_left_out(forum, f"{base}{name}", why) for name, why in wrong.items()]
    if others and not found:
        raise ForumUnreadableError(others[0].reason)
    return found, others


# Discourse: /latest.json?page=N lists topics, /t/ID.json has a topic's first posts and the ids of the others.


class _Topic(BaseModel):
    id: int
    created_at: datetime
    posts_count: int
    views: int = 0
    like_count: int = 0
    has_accepted_answer: bool | None = None


class _TopicList(BaseModel):
    topics: list[Any]
    more_topics_url: str | None = None


class _Latest(BaseModel):
    topic_list: _TopicList


class _Post(BaseModel):
    id: int
    username: str
    name: str | None = None
    cooked: str
    post_number: int
    accepted_answer: bool = False
    post_type: int = 1
    action_code: str | None = None


class _PostStream(BaseModel):
    posts: list[_Post]
    stream: list[int] = Field(default_factory=list)


class _TopicPage(BaseModel):
    title: str
    slug: str = ""
    post_stream: _PostStream
    accepted_answer: Any = None


class _MorePosts(BaseModel):
    post_stream: _PostStream


_OF_PEOPLE = 1
_GONE = frozenset({"http_401", "http_403", "http_404", "http_410"})
_OF_ONE_PAGE = frozenset({"", "too_large", "bad_encoding", "too_many_redirects"})
"""Why one thread cannot be read while its forum can."""
_NO_JSON = "no_json"
_OF_ONE_OR_ALL = frozenset({_NO_JSON, "http_500", "http_502", "http_504", "timeout"})
_MOST_IN_A_ROW = 10
"""Topics that fail so. Beyond that the forum does: a page that asks for a login, or whether a person reads, stands in
the place of each, or the program behind it is broken."""
_AT_ONCE = 20
_MOST_POSTS, _MOST_TO_AN_ANSWER = 100, 1_000
"""Of a topic, and of one of which it is known that an answer behind these was accepted."""
_MOST_PAGES = 1_000


async def _discourse(forum: DiscourseForum, reader: _Json, known: frozenset[str]) -> AsyncIterator[Thread | LeftOut]:
    base, in_a_row = forum.url.rstrip("/"), list[LeftOut]()
    async for listed in _topics(forum, reader, base):
        if isinstance(listed, LeftOut):
            yield listed
            continue
        url = f"{base}/t/{listed.id}"
        if url in known:
            continue
        try:
            thread = await _topic(forum, reader, url, solved=bool(listed.has_accepted_answer))
        except ForumUnreadableError as error:
            if error.code not in _OF_ONE_OR_ALL:
                raise
            in_a_row.append(LeftOut(url, forum.name, str(error)))
            if len(in_a_row) == _MOST_IN_A_ROW:
                why = "no JSON: does it ask for a login?" if error.code == _NO_JSON else f"no page; the last: {error}"
                told = f"{base} answers {len(in_a_row)} topics in a row with {why}"
                raise ForumUnreadableError(told, error.code) from None
            continue
        for each in in_a_row:
            yield each
        in_a_row.clear()
        if thread is not None:
            yield thread
    for each in in_a_row:
        yield each


async def _discourse_samples(
    forum: DiscourseForum, reader: _Json, known: frozenset[str], numbers: Sequence[str]
) -> AsyncIterator[Thread | LeftOut]:
    for number in numbers:
        url = f"{forum.url.rstrip('/')}/t/{number}"
        if url not in known:
            thread = await _topic(forum, reader, url, solved=False)
            yield thread or _left_out(forum, url, "is not there, or has no accepted answer")


async def _topics(forum: DiscourseForum, reader: _Json, base: str) -> AsyncIterator[_Topic | LeftOut]:
    """Those that may become threads, by what the lists say of them."""
    seen = set[int]()
    for page in range(_MOST_PAGES):
        listed = (await reader.get(_Latest, f"{base}/latest.json", {"page": page})).topic_list
        topics, others = _listed(forum, _Topic, listed.topics, "id", f"{base}/t/")
        for each in others:
            yield each
        # What is pinned or was just written in stands on several pages.
        new = {topic.id: topic for topic in topics if topic.id not in seen}
        seen |= new.keys()
        for topic in new.values():
            enough = topic.views >= forum.views and topic.like_count >= forum.votes
            # The listing may say so; where it does not, the topic does.
            solved = topic.has_accepted_answer is not False
            replied = topic.posts_count > forum.replies
            if enough and solved and replied and _within(forum, topic.created_at):
                yield topic
        if not new or listed.more_topics_url is None:
            return


async def _topic(forum: DiscourseForum, reader: _Json, url: str, *, solved: bool) -> Thread | LeftOut | None:
    try:
        page = await reader.get(_TopicPage, f"{url}.json")
        solved = solved or page.accepted_answer is not None
        posts = await _posts(reader, url, page.post_stream, solved)
    except ForumUnreadableError as error:
        if error.code in _GONE:
            return None
        if error.code in _OF_ONE_PAGE:
            return LeftOut(url, forum.name, str(error))
        raise
    # Others are notes of the forum's own, as that a topic was closed.
    said = [post for post in posts if post.post_type == _OF_PEOPLE and post.action_code is None]
    if not said:
        return None
    first, *others = sorted(said, key=lambda post: post.post_number)
    accepted = next((post for post in others if post.accepted_answer), None)
    if accepted is None:
        return _left_out(forum, url, "has an accepted answer that is not among its posts") if solved else None
    return await _thread(
        forum,
        reader.texts,
        url=url,
        title=page.title,
        question=first.cooked,
        answer=accepted.cooked,
        replies=[post.cooked for post in others if post is not accepted],
        names=[name for post in said for name in (post.username, post.name or "")],
    )


async def _posts(reader: _Json, url: str, begun: _PostStream, solved: bool) -> list[_Post]:
    """Of a topic, of which some have begun it: the first hundred, and in a solved one on to the accepted answer."""
    posts = {post.id: post for post in begun.posts}
    rest = [each for each in begun.stream[:_MOST_TO_AN_ANSWER] if each not in posts]
    for start in range(0, len(rest), _AT_ONCE):
        missed = solved and not any(post.accepted_answer for post in posts.values())
        if len(begun.posts) + start >= _MOST_POSTS and not missed:
            break
        ids = {"post_ids[]": rest[start : start + _AT_ONCE]}
        more = await reader.get(_MorePosts, f"{url}/posts.json", ids)
        posts |= {post.id: post for post in more.post_stream.posts}
    return [*posts.values()]


# Stack Exchange: questions by votes, then the answers of up to thirty of them at once.


class _StackPage(BaseModel):
    has_more: bool = False
    backoff: float = Field(default=0.0, ge=0, le=3_600)


class _Owner(BaseModel):
    display_name: str = ""


class _StackQuestion(BaseModel):
    question_id: int
    title: str
    body: str
    link: str
    creation_date: int
    view_count: int = 0
    score: int = 0
    answer_count: int = 0
    accepted_answer_id: int | None = None
    owner: _Owner = _Owner()
    content_license: str = ""


class _StackAnswer(BaseModel):
    answer_id: int
    question_id: int
    body: str
    score: int = 0
    owner: _Owner = _Owner()


class _StackQuestions(_StackPage):
    items: list[Any]


class _StackAnswers(_StackPage):
    items: list[Any]


_ANSWERED_AT_ONCE = 30
_MOST_ANSWERS = 3_000
"""Of so many questions."""


async def _stack_exchange(
    forum: StackExchangeForum, reader: _Json, known: frozenset[str], samples: Sequence[str] = ()
) -> AsyncIterator[Thread | LeftOut]:
    """With `samples` of these alone, whatever the filters."""
    base = forum.url.rstrip("/")
    asked: dict[str, Any] = {"site": forum.site, "filter": "withbody", "pagesize": 100, "order": "desc"}
    if forum.key:
        asked["key"] = forum.key
    address, window = _questions_of(forum, base, samples)
    seen = set[int]()
    for page in range(1, _MOST_PAGES + 1):
        listed = await reader.get(_StackQuestions, address, {**asked, **window, "page": page})
        questions, others = _listed(forum, _StackQuestion, listed.items, "link")
        for other in others:
            yield other
        # A vote moves a question from page to page.
        new = {each.question_id: each for each in questions if each.question_id not in seen}
        seen |= new.keys()
        wanted = [each for each in new.values() if each.link not in known and _is_wanted(forum, each, bool(samples))]
        for start in range(0, len(wanted), _ANSWERED_AT_ONCE):
            some = wanted[start : start + _ANSWERED_AT_ONCE]
            answers, unread = await _answers(reader, base, asked, [each.question_id for each in some])
            for question in some:
                if why := unread.get(str(question.question_id)):
                    yield _left_out(forum, question.link, f"has an answer that {why}")
                    continue
                own = [each for each in answers if each.question_id == question.question_id]
                accepted = next((each for each in own if each.answer_id == question.accepted_answer_id), None)
                if accepted is None:
                    yield _left_out(forum, question.link, "has an accepted answer that is not among its answers")
                    continue
                thread = await _thread(
                    forum,
                    reader.texts,
                    url=question.link,
                    title=unescape(question.title),
                    question=question.body,
                    answer=accepted.body,
                    replies=[each.body for each in own if each is not accepted],
                    names=[question.owner.display_name, *(each.owner.display_name for each in own)],
                    licence=forum.licence or question.content_license,
                )
                if thread is not None:
                    yield thread
        if not new or not listed.has_more:
            return


def _questions_of(forum: StackExchangeForum, base: str, samples: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Where they are listed, and what is asked for there."""
    if samples:
        return f"{base}/questions/{';'.join(samples)}", {"sort": "votes"}
    # `min` is of what is sorted by.
    window = {
        "fromdate": _seconds(forum.since),
        # No day follows the calendar's last one, until which all is asked for.
        "todate": None if forum.until == date.max else _seconds(forum.until, days=1),
        "min": forum.votes,
    }
    return f"{base}/questions", {"sort": "votes"} | {key: each for key, each in window.items() if each is not None}


def _is_wanted(forum: StackExchangeForum, question: _StackQuestion, sample: bool) -> bool:
    enough = question.view_count >= forum.views and question.answer_count >= forum.replies
    return question.accepted_answer_id is not None and (sample or enough)


async def _answers(
    reader: _Json, base: str, asked: Mapping[str, Any], questions: Sequence[int]
) -> tuple[list[_StackAnswer], dict[str, str]]:
    """And by the id of a question what is wrong with an answer to it."""
    found, wrong = dict[int, _StackAnswer](), dict[str, str]()
    for page in range(1, _MOST_PAGES + 1):
        address = f"{base}/questions/{';'.join(map(str, questions))}/answers"
        listed = await reader.get(_StackAnswers, address, {**asked, "sort": "votes", "page": page})
        before = len(found)
        answers, others = _of_form(_StackAnswer, listed.items, "question_id")
        found |= {each.answer_id: each for each in answers}
        wrong |= others
        if len(found) == before or len(found) > _MOST_ANSWERS or not listed.has_more:
            break
    return [*found.values()], wrong


def _left_out(forum: Forum, url: str, why: str) -> LeftOut:
    return LeftOut(url, forum.name, f"{url} {why}")


def _seconds(day: date | None, days: int = 0) -> int | None:
    """Of the beginning of a day in UTC, since 1970."""
    if day is None:
        return None
    return int((datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=days)).timestamp())


def _within(forum: Forum, moment: datetime) -> bool:
    try:
        day = moment.astimezone(UTC).date()
    except OverflowError:  # at either end of the calendar, where no forum was
        return False
    return (forum.since is None or day >= forum.since) and (forum.until is None or day <= forum.until)


async def _thread(
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
) -> Thread | LeftOut | None:
    """Posts are HTML. None where question or answer have no text: pictures alone."""
    try:
        (asked, said, *others), named = await texts.call(url, read_posts, [question, answer, *replies])
    except InputError as error:
        return LeftOut(url, forum.name, error.message)
    if not all(text.replace(PICTURE, "").strip("> \n") for text in (asked, said)):
        return None
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


async def fetch_threads(
    plan: ForumsPlan, approved: Collection[str] = ()
) -> AsyncIterator[tuple[str, Thread | LeftOut | ForumUnreadableError]]:
    """The threads that the plan's output has not, of proposed forums that are not among the `approved` ones the samples
    alone, by the name of their forum, each after it was added there; those that
    cannot be read, after they were written beside it; a forum that cannot be read on says why, and the next one
    follows. Raises InputError where another process adds to the output or it cannot be written, StoreError where it
    cannot be written any more."""
    with RowFile(Path(plan.output), head=b'{"question": ') as rows:
        async for found in _fetched(plan, rows, approved):
            yield found


async def _fetched(
    plan: ForumsPlan, rows: RowFile, approved: Collection[str]
) -> AsyncIterator[tuple[str, Thread | LeftOut | ForumUnreadableError]]:
    from toolablate.tools.web import LiveHttpClient

    output = rows.path
    there = rows_there(output)
    known = frozenset(url for url, _ in there)
    # What stands on several pages is told once, and kept once.
    before, told = left_out_of(output), set[LeftOut]()
    client = LiveHttpClient(plan.web.policy)
    async with apart(OF_A_PAGE) as texts:
        try:
            for forum in plan.forums:
                try:
                    left = forum.limit - sum(name == forum.name for _, name in there)
                    async for thread in threads_of(
                        forum, client, plan.web, texts, known, left, samples=not forum.is_open(approved)
                    ):
                        if isinstance(thread, Thread):
                            rows.append(thread.row())
                        elif thread in told:
                            continue
                        else:
                            told.add(thread)
                            if thread not in before:
                                with RowFile(_left_out_beside(output), head=b'{"url": ') as beside:
                                    beside.append(thread.row())
                        yield forum.name, thread
                except ForumUnreadableError as error:
                    yield forum.name, error
        finally:
            await client.close()


def rows_there(output: Path) -> list[tuple[str, str]]:
    """The addresses of those that are there, with the names of their forums. Raises InputError."""
    from toolablate.benchmarks.rows.sources import rows_of

    if not output.exists():
        return []
    return [(str(row.get("url", "")), str(row.get("forum", ""))) for _, row in rows_of(output)]


def _left_out_beside(output: Path) -> Path:
    return output.with_name(f"{output.stem}-left-out.jsonl")


def left_out_of(output: Path) -> list[LeftOut]:
    """The threads that `build threads` could not read, but those that it read since. Lines that cannot be read, as a
    kill or a full disk leaves them, count for nothing: their threads are tried again. Raises InputError where the
    output itself cannot be read."""
    try:
        lines = _left_out_beside(output).read_bytes().splitlines()
    except OSError:
        return []
    known = {url for url, _ in rows_there(output)}
    rows = [row for row in map(_row_of, lines) if row]
    last = {str(row.get("url", "")): row for row in rows}
    return [
        LeftOut(url, str(row.get("forum", "")), str(row.get("reason", "")))
        for url, row in last.items()
        if url not in known
    ]


def _row_of(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}
