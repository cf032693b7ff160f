"""Thread worlds: the threads that questions are made of as a corpus, and the same with a wrong reply as each answer."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolablate.experiments.construction.question_checks import gives_away, holds, says_the_same
from toolablate.experiments.construction.stages import Content, explained


@dataclass(frozen=True, slots=True)
class ThreadWorlds:
    """A document for each address: the thread of an item with its answer, and with its first false reply in the place
    of that. Of `found` items both have the further false replies and no others, which may say the right answer, so
    that they differ in the answer alone, and the false one is marked as falsified. Other threads are the same in both,
    and whole: those without a wrong reply, and those of `left`, which would hold the right answer beside the false
    one. Of several items of one thread each may have the other's answer: such a thread stays true."""

    true: tuple[dict[str, Any], ...]
    false: tuple[dict[str, Any], ...]
    found: frozenset[str]
    left: frozenset[str]


def thread_worlds(contents: Mapping[str, Content], mended: Collection[str]) -> ThreadWorlds:
    """Of items that people `mended`, the item's own words: what they took out may stand anywhere in the thread."""
    from toolablate.tools.corpus.documents import url_key

    true, false, found, left = [], [], set(), set()
    of_thread = Counter(url_key(content["url"]) for content in contents.values() if content["url"])
    for item, content in contents.items():
        if item in mended:
            content = _of_itself(content)
        about = {"id": item, "title": content["title"] or item[:16]}
        about["url"] = content["url"] or f"https://thread.example/{item[:16]}"
        about |= {"licence": content["licence"]} if content.get("licence") else {}
        answer, replies = explained(content), content["replies"]
        alone = of_thread[url_key(content["url"])] < 2
        wrong = false_replies(content) if alone and not _asks_with_answer(content) else []
        if wrong:
            found.add(item)
            replies = wrong[1:]
        elif content["wrong_replies"]:
            left.add(item)
        true.append({**about, "text": _thread(content["question"], answer, replies)})
        mark = {"falsified": True} if wrong else {}
        false.append({**about, "text": _thread(content["question"], wrong[0] if wrong else answer, replies), **mark})
    return ThreadWorlds(_by_address(true), _by_address(false), frozenset(found), frozenset(left))


def _by_address(documents: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """What several items have of one thread is one document, under each of their licences: a search takes an address
    once."""
    from toolablate.tools.corpus.documents import url_key

    found: dict[str, dict[str, Any]] = {}
    for each in documents:
        first = found.setdefault(url_key(each["url"]), each)
        if first is not each:
            first["text"] += f"\n\n{each['text']}"
            licences = dict.fromkeys(filter(None, (first.get("licence"), each.get("licence"))))
            first |= {"licence": "; ".join(licences)} if licences else {}
    return tuple(found.values())


def false_replies(content: Content) -> list[str]:
    """Wrong replies without the lines that they quote, as far as something is left that does not hold the right answer
    word for word, not even to deny it, and announces nothing that is gone."""
    right = _right_answers(content)
    own = [each for each in map(_without_quotes, content["wrong_replies"]) if each and not each.endswith((":", "："))]
    return [each for each in own if not any(says_the_same(each, text) or holds(each, text) for text in right)]


def _asks_with_answer(content: Content) -> bool:
    """As a thread does whose title or question was edited when it was solved."""
    text = f"{content['title']}\n{content['question']}"
    return any(gives_away(text, each, content["asked"].get("options", ())) for each in _right_answers(content))


def _right_answers(content: Content) -> tuple[str, str]:
    """Of the thread, and of the question that was made of it."""
    asked = content["asked"]
    return _without_quotes(content["answer"]), asked["right"] if "options" in asked else asked["answer"]


def _without_quotes(text: str) -> str:
    """Without the lines that a post quotes, which begin with ">"; ">>>" is Python's prompt."""
    lines = (line for line in text.splitlines() if not _QUOTED.match(line))
    return "\n".join(lines).strip()


_QUOTED = re.compile(r"\s*>(?!>>)")


def _of_itself(content: Content) -> Content:
    asked = content["asked"]
    said = {"answer": asked["right"] if "options" in asked else asked["answer"], "explanation": asked["explanation"]}
    return {**content, "title": "", "question": asked["question"], **said, "replies": []}


def _thread(question: str, answer: str, replies: list[str]) -> str:
    return "\n\n".join((question, f"Accepted answer: {answer}", *(f"Reply: {each}" for each in replies)))
