"""Stack Exchange, by its API 2.3: questions by votes, then the answers of up to thirty of them at once."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from html import unescape
from typing import Any

from pydantic import BaseModel

from toolablate.experiments.construction.sources.forum_plan import StackExchangeForum
from toolablate.experiments.construction.sources.forum_reading import (
    MOST_PAGES,
    ForumReader,
    LeftOut,
    Paged,
    Thread,
    left_out,
    of_form,
    thread_of,
    threads_listed,
)


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


class _StackQuestions(Paged):
    items: list[Any]


class _StackAnswers(Paged):
    items: list[Any]


_ANSWERED_AT_ONCE = 30
_MOST_ANSWERS = 3_000
"""Of so many questions."""


async def stack_exchange_threads(
    forum: StackExchangeForum, reader: ForumReader, known: frozenset[str], samples: Sequence[str] = ()
) -> AsyncIterator[Thread | LeftOut]:
    """With `samples` of these alone, whatever the filters."""
    base = forum.url.rstrip("/")
    asked: dict[str, Any] = {"site": forum.site, "filter": "withbody", "pagesize": 100, "order": "desc"}
    if forum.key:
        asked["key"] = forum.key
    address, window = _questions_of(forum, base, samples)
    seen = set[int]()
    for page in range(1, MOST_PAGES + 1):
        listed = await reader.get(_StackQuestions, address, {**asked, **window, "page": page})
        questions, others = threads_listed(forum, _StackQuestion, listed.items, "link")
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
                    yield left_out(forum, question.link, f"has an answer that {why}")
                    continue
                own = [each for each in answers if each.question_id == question.question_id]
                accepted = next((each for each in own if each.answer_id == question.accepted_answer_id), None)
                if accepted is None:
                    yield left_out(forum, question.link, "has an accepted answer that is not among its answers")
                    continue
                yield await thread_of(
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
    reader: ForumReader, base: str, asked: Mapping[str, Any], questions: Sequence[int]
) -> tuple[list[_StackAnswer], dict[str, str]]:
    """And by the id of a question what is wrong with an answer to it."""
    found, wrong = dict[int, _StackAnswer](), dict[str, str]()
    for page in range(1, MOST_PAGES + 1):
        address = f"{base}/questions/{';'.join(map(str, questions))}/answers"
        listed = await reader.get(_StackAnswers, address, {**asked, "sort": "votes", "page": page})
        before = len(found)
        answers, others = of_form(_StackAnswer, listed.items, "question_id")
        found |= {each.answer_id: each for each in answers}
        wrong |= others
        if len(found) == before or len(found) > _MOST_ANSWERS or not listed.has_more:
            break
    return [*found.values()], wrong


def _seconds(day: date | None, days: int = 0) -> int | None:
    """Of the beginning of a day in UTC, since 1970."""
    if day is None:
        return None
    return int((datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=days)).timestamp())
