"""Thread worlds: the threads that questions are made of as a corpus, and the same with a wrong reply as each answer."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from toolablate.experiments.construction.stages import Content, explained


@dataclass(frozen=True, slots=True)
class ThreadWorlds:
    """A document for each item: its thread with its answer, and with its first wrong reply in the place of that; of
    `found` threads both have further wrong replies and no others, which may say the right answer, so that they differ
    in the answer alone, and the false one is marked as falsified. Threads without a wrong reply are the same in both,
    and whole."""

    true: tuple[dict[str, Any], ...]
    false: tuple[dict[str, Any], ...]
    found: frozenset[str]


def thread_worlds(contents: Mapping[str, Content], mended: Collection[str]) -> ThreadWorlds:
    """Of items that people `mended`, the item's own words: what they took out may stand anywhere in the thread."""
    true, false, found = [], [], set()
    for item, content in contents.items():
        if item in mended:
            content = _of_itself(content)
        about = {"id": item, "title": content["title"] or item[:16]}
        about["url"] = content["url"] or f"https://thread.example/{item[:16]}"
        about |= {"licence": content["licence"]} if content.get("licence") else {}
        answer, replies, wrong = explained(content), content["replies"], content["wrong_replies"]
        if wrong:
            found.add(item)
            replies = wrong[1:]
        true.append({**about, "text": _thread(content["question"], answer, replies)})
        mark = {"falsified": True} if wrong else {}
        false.append({**about, "text": _thread(content["question"], wrong[0] if wrong else answer, replies), **mark})
    return ThreadWorlds(tuple(true), tuple(false), frozenset(found))


def _of_itself(content: Content) -> Content:
    asked = content["asked"]
    said = {"answer": asked["right"] if "options" in asked else asked["answer"], "explanation": asked["explanation"]}
    return {**content, "title": "", "question": asked["question"], **said, "replies": []}


def _thread(question: str, answer: str, replies: list[str]) -> str:
    return "\n\n".join((question, f"Accepted answer: {answer}", *(f"Reply: {each}" for each in replies)))
