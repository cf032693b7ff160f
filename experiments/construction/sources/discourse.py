"""Discourse: /latest.json?page=N lists topics, /t/ID.json has a topic's first posts and the ids of the others."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from toolablate.experiments.construction.sources.forum_plan import DiscourseForum
from toolablate.experiments.construction.sources.forum_reading import (
    MOST_PAGES,
    NO_JSON,
    ForumReader,
    ForumUnreadableError,
    LeftOut,
    Thread,
    is_within,
    left_out,
    thread_of,
    threads_listed,
)


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
_OF_ONE_PAGE = frozenset(
    {"", "http_401", "http_403", "http_404", "http_410", "too_large", "bad_encoding", "too_many_redirects"}
)
"""Why one thread cannot be read while its forum can."""
_OF_PAGE_OR_FORUM = frozenset({NO_JSON, "http_500", "http_502", "http_504", "timeout"})
_MOST_IN_A_ROW = 10
"""Topics that fail so. Beyond that the forum does: a page that asks for a login, or whether a person reads, stands in
the place of each, or the program behind it is broken."""
_AT_ONCE = 20
_MOST_POSTS, _MOST_TO_AN_ANSWER = 100, 1_000
"""Of a topic, and of one of which it is known that an answer behind these was accepted."""


async def discourse_threads(
    forum: DiscourseForum, reader: ForumReader, known: frozenset[str]
) -> AsyncIterator[Thread | LeftOut]:
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
            if error.code not in _OF_PAGE_OR_FORUM:
                raise
            in_a_row.append(LeftOut(url, forum.name, str(error)))
            if len(in_a_row) == _MOST_IN_A_ROW:
                why = "no JSON: does it ask for a login?" if error.code == NO_JSON else f"no page; the last: {error}"
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


async def discourse_samples(
    forum: DiscourseForum, reader: ForumReader, known: frozenset[str], numbers: Sequence[str]
) -> AsyncIterator[Thread | LeftOut]:
    for number in numbers:
        url = f"{forum.url.rstrip('/')}/t/{number}"
        if url not in known:
            thread = await _topic(forum, reader, url, solved=False)
            yield thread or left_out(forum, url, "is not there, or has no accepted answer")


async def _topics(forum: DiscourseForum, reader: ForumReader, base: str) -> AsyncIterator[_Topic | LeftOut]:
    """Those that may become threads, by what the lists say of them."""
    seen = set[int]()
    for page in range(MOST_PAGES):
        listed = (await reader.get(_Latest, f"{base}/latest.json", {"page": page})).topic_list
        topics, others = threads_listed(forum, _Topic, listed.topics, "id", f"{base}/t/")
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
            if enough and solved and replied and is_within(forum, topic.created_at):
                yield topic
        if not new or listed.more_topics_url is None:
            return


async def _topic(forum: DiscourseForum, reader: ForumReader, url: str, *, solved: bool) -> Thread | LeftOut | None:
    try:
        page = await reader.get(_TopicPage, f"{url}.json")
        solved = solved or page.accepted_answer is not None
        posts = await _posts(reader, url, page.post_stream, solved)
    except ForumUnreadableError as error:
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
        return left_out(forum, url, "has an accepted answer that is not among its posts") if solved else None
    return await thread_of(
        forum,
        reader.texts,
        url=url,
        title=page.title,
        question=first.cooked,
        answer=accepted.cooked,
        replies=[post.cooked for post in others if post is not accepted],
        names=[name for post in said for name in (post.username, post.name or "")],
    )


async def _posts(reader: ForumReader, url: str, begun: _PostStream, solved: bool) -> list[_Post]:
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
