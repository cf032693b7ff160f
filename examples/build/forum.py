"""A small forum, in Discourse's JSON: threads written from the facts by templates, and some that the stages drop."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from facts import CHROMOSOMES, METALS, PORTS, SOLVENTS, STATUS, Fact, Table

_WHO = (
    "I took over a teaching laboratory last autumn, and half of its labels have faded.",
    "We are three people in a start-up without anyone to ask.",
    "After twenty years in sales I am back at the bench, and rusty.",
    "My supervisor is at sea until Thursday, so I turn to you.",
    "For a service manual I have to write down one number and sign for it.",
    "Our new colleague and I have argued about this since lunch.",
    "I maintain an old installation that nobody documented.",
    "While translating a German handbook I met a line that looks misprinted.",
    "An audit next week wants a source for every figure in our protocol.",
)
_TRIED = (
    "Two search results contradicted each other, and the third wanted money.",
    "The poster in the corridor shows something, but a coffee stain covers the row.",
    "An older note of ours gives a figure without a unit or a date.",
    "The vendor's data sheet is silent, and their hotline plays music.",
    "I tried to work it out from a neighbouring row, which went badly.",
    "The printed tables are in a crate in another building.",
    "Somebody pencilled a question mark beside the entry in our only copy.",
    "A chat program gave me three answers in a row, each with great confidence.",
    "The first attempt failed, and before the second I want to be certain.",
    "What I remember from school may be right, and that is not good enough.",
    "The spreadsheet that we inherited has a formula there that refers to nothing.",
)
_CLOSE = (
    "A pointer to where it is printed would be welcome.",
    "I can repeat the run on Monday if need be.",
    "Please say how sure you are.",
    "Bonus if somebody knows why people mix this up.",
    "Many thanks from a cold basement!",
    "I will report back with what came of it.",
    "No hurry, the part is on order anyway.",
)
_ANSWER = (
    "{said}. Checked in the handbook and against our own records.",
    "It is in every edition that I own: {said}. Do not trust the poster.",
    "{said}. The confusion comes from the neighbouring row of the table.",
    "We had the same case in spring. {said}, and the second source agrees.",
)
_WRONG = (
    "I would not look any further: {said}. It has always worked for me.",
    "From memory, {said}. You can rely on it.",
    "{said}, I am almost sure.",
)
_PEOPLE = ("mara_k", "tobias.h", "old_hand", "jun42", "Priya Raman", "lw", "kestrel", "H. Osei")


@dataclass(frozen=True)
class Thread:
    """`replies` are the posts after the question; `accepted` is the place of the solution among them, None without."""

    title: str
    question: str
    replies: tuple[str, ...]
    accepted: int | None = 0


def _thread(number: int, fact: Fact) -> Thread:
    question = " ".join(
        (
            _WHO[number % len(_WHO)],
            _TRIED[number * 3 % len(_TRIED)],
            fact.asked(number),
            _CLOSE[number * 2 % len(_CLOSE)],
        )
    )
    answer = _ANSWER[number % len(_ANSWER)].format(said=fact.said(fact.value))
    wrong = _WRONG[number % len(_WRONG)].format(said=fact.said(fact.wrong))
    talk = f"Thank you @{_PEOPLE[(number + 1) % 4]}, that settles it. Write to me at bench{number}@lab.example."
    replies = (wrong, answer, talk) if number % 2 else (answer, wrong)
    return Thread(fact.name, question, _upper(replies), number % 2)


def _upper(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text[0].upper() + text[1:] if text.startswith(("the status", "a body")) else text for text in texts)


def _few(table: Table, count: int) -> list[Fact]:
    return [Fact(table, subject) for subject in list(table.values)[:count]]


_ASKED = [
    *_few(SOLVENTS, 9),
    *_few(METALS, 8),
    *_few(PORTS, 8),
    *_few(STATUS, 8),
    *_few(CHROMOSOMES, 9),
]
"""Forty become questions; of the ninth solvent and the ninth creature people say that they are no long tail."""


def threads() -> Iterator[Thread | None]:
    """In the order in which they are listed; None is one that only its members see."""
    good = [_thread(number, fact) for number, fact in enumerate(_ASKED)]
    yield from good
    yield None
    yield Thread("Anyone?", "Which sealant survives hot toluene? Nobody here knows.", ("No idea either.",), None)
    yield Thread("Fan", "Does the hood need a new fan? It hums since May.", ("Mine does that too.",), None)
    yield Thread("Help", "It does not work. Please help, I tried everything twice.", ("Turn it 90 degrees.",))
    yield Thread("Broken", "The second flask again. You know the one.", ("Take a flask of 250 ml.",))
    yield Thread("Seal", "Which grease seals a joint at low pressure?", ("Solved, the shop had some. Closing this.",))
    yield Thread("Proxy", "Why does the proxy drop long requests of my students?", ("Found it myself, thanks all.",))
    for subject, table in (("zinc", METALS), ("NTP", PORTS)):
        fact = Fact(table, subject)
        told = f"That cannot be right, two of us measured it: {fact.said(fact.wrong)}."
        yield Thread(
            "Sources disagree", f"Old sources disagree. {fact.asked(1)}", _upper((fact.said(fact.value), told))
        )
    yield replace(good[3], question=f"{good[3].question} Thanks in advance.")
    for number in (12, 20):
        yield replace(good[number], question=good[number].question.removeprefix(_WHO[number % len(_WHO)]).strip())
    yield Thread("Homework", "From my homework: at how many degrees does water boil?", ("At 100 °C, at sea level.",))
    yield Thread("Homework 2", "Homework again: how many bits are in one byte?", ("There are 8 bits in it.",))
    yield Thread("Quiz", "For our pub quiz: how many legs has a spider?", ("It has 8 legs, and the web has none.",))
    yield Thread("Release", "Which is the latest stable release of the kernel?", ("It was 6.9 when I looked.",))
    yield Thread("Fees", "What is the conference fee this year for students?", ("It is 240 euros, with lunch.",))


THREADS = tuple(threads())
PER_PAGE = 30


def topic(number: int) -> dict[str, Any] | None:
    """`/t/NUMBER.json`; None where there is no such topic, or not for everyone."""
    thread = THREADS[number - 1] if 1 <= number <= len(THREADS) else None
    if thread is None:
        return None
    posts = [_post(number, place, text) for place, text in enumerate((thread.question, *thread.replies), start=1)]
    if thread.accepted is not None:
        posts[thread.accepted + 1]["accepted_answer"] = True
        closed = "<p>This topic was automatically closed after the last reply.</p>"
        note = {"post_type": 3, "action_code": "autoclosed.enabled", "username": "system", "cooked": closed}
        posts.append(_post(number, len(posts) + 1, "") | note)
    stream = {"posts": posts, "stream": [post["id"] for post in posts]}
    return {"id": number, "title": thread.title, "slug": "t", "post_stream": stream}


def _post(topic_number: int, place: int, text: str) -> dict[str, Any]:
    name = _PEOPLE[(topic_number + place - 1) % len(_PEOPLE)]
    return {
        "id": topic_number * 100 + place,
        "username": name,
        "cooked": f"<p>{text}</p>",
        "post_number": place,
        "accepted_answer": False,
    }


def latest(page: int) -> dict[str, Any]:
    """`/latest.json?page=PAGE`."""
    listed = [
        {
            "id": number,
            "created_at": f"2026-0{1 + number % 9}-11T10:00:00.000Z",
            "posts_count": 2 + (len(thread.replies) if thread else 1),
            "views": 100 + number,
            "has_accepted_answer": thread is None or thread.accepted is not None,
        }
        for number, thread in enumerate(THREADS, start=1)
    ][page * PER_PAGE : (page + 1) * PER_PAGE]
    more = {"more_topics_url": f"/latest?page={page + 1}"} if (page + 1) * PER_PAGE < len(THREADS) else {}
    return {"topic_list": {"topics": listed, **more}}
