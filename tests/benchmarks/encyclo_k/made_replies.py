"""Replies whose making is known."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from toolablate.benchmarks.encyclo_k.analyses import Reply
from toolablate.benchmarks.lettering import LETTERS
from toolablate.traces.analysis.encyclo_k import ArmAccuracy
from toolablate.traces.records import ChoiceTarget, Question
from toolablate.traces.store import Observation

# To ten options, of which C is "wheat", I "oats", J "rye"; with the letter that each commits to.
NAMING_ONE = (
    # Second thoughts.
    ("Answer: C. Actually no, D.", "D"),
    ("Answer: C, no wait, D.", "D"),
    ("The answer is C. Wait, no, it's D.", "D"),
    ("The answer is (C). Sorry, I mean (D).", "D"),
    ("Answer: C\nNo, D.", "D"),
    ("Answer: C. No, D is wrong.", "C"),
    ("The answer is (C). Actually, D fits less well.", "C"),
    ("Answer: C. Wait, I have to check D. It does not fit.", "C"),
    ("I first thought the answer was C, but it is D.", "D"),
    # One letter denied and another put in its place.
    ("The answer is not C but D.", "D"),
    ("The answer can't be C, so it is D.", "D"),
    ("The answer isn't C, it's D.", "D"),
    ("The answer is not wheat (C), but rather rye (J).", "J"),
    ("The wrong answer is C, the right one is D.", "D"),
    ("Many say the answer is C. The answer is D.", "D"),
    ("There is no doubt that the answer is C.", "C"),
    ("答案不是A，而是B。", "B"),
    ("答案不是A而是B", "B"),
    ("答案不是A，应该选B。", "B"),
    ("答案：C。不对，应该是D。", "D"),
    ("答案是C。等等，更正：D。", "D"),
    ("选项A不对，选项C正确。", "C"),
    ("选项C正确。", "C"),
    # Called right, without an announcement.
    ("So C is correct.", "C"),
    ("Either way, C is correct.", "C"),
    ("Option C is the only correct one.", "C"),
    ("Therefore, option (C) is the correct answer.", "C"),
    ("Some think it is D. I choose C.", "C"),
    # What is like an option, at the end.
    ("So it has to be oats, which corresponds to option (I).", "I"),
    ("So it is a plant that has seeds. This aligns with option (I). It is good.", "I"),
    ("It is not listed. One would take some plant, which corresponds to option (I).\n\n\n\n\n\nA. 1 B. 2 C. 3 D.", "I"),
    ("The one reason would be option (C).\n\nQuestion: what else?\nIt is (D).", "C"),
    ("The answer is not listed, but option (C) is closest. However, it is not exact.", "C"),
    ("The answer is (12.5 km).\n\nNow, for something else", "B"),
)
NAMING_NONE = (
    "Answer: C. Wait, that is wrong.",
    "Answer: C. No, that's not right.",
    "Answer: C. This is incorrect.",
    "Answer: C (incorrect)",
    "Answer: C\n\nWait, that's wrong. Let me reconsider. It may be",
    "The answer is C? No.",
    "Vitamin C is correct.",
    "Plan B is the best.",
    "The wrong answer is C.",
    "Those who say the answer is C are mistaken.",
    "Many students think that C is correct.",
    "The author says the answer is C. We cannot know.",
    "A common mistake is to say that the answer is C.",
    "The correct answer could be C.",
    "The answer cannot be C.",
    "I don't think C is the best.",
    "If C is correct, then wheat is a plant.",
    "The answer is C if wheat is a plant, and D if it is not.",
    "The answer is not listed, but (C) is close. However, none of them is right.",
    "Option C is correct only if wheat grows.",
    "Option C is the closest to being wrong.",
    "Let us choose C = 5 and go on.",
    "I choose A or B.",
    "A正确，C正确。",
    "选项B和C正确。",
    "答案不是A。",
    "错误的答案是C。",
    "我不认为答案是C。",
    "如果答案是C，那么小麦是植物。",
    "有人认为答案是C，但这是错的。",
    "(B) is correct since one may. (C) is correct because it",
    "- (A) is incorrect because it is.\n- (B) is correct because that holds.\n- (C) is incorrect because",
    "The first step corresponds to option A. Then wheat grows. Then it rains. Then it snows. Then there",
)


def question(number: int, right: str = "A", options: int = 4, **metadata: Any) -> Question:
    return Question(
        id=f"q{number}",
        prompt="Which hold?",
        choices=tuple(LETTERS[:options].lower()),
        target=ChoiceTarget(letters=(right,)),
        source="encyclo-k",
        metadata={"discipline": "Science", "field": "Physics", "subfield": "Optics", **metadata},
    )


def reply(of: Question, chosen: str, *, model: str = "m", condition: str = "none", **changes: Any) -> Reply:
    assert of.target.kind == "choice"
    right = (chosen,) == of.target.letters
    verdict: Any = "unparsed" if not chosen else "correct" if right else "wrong"
    tokens = changes.pop("tokens", None)
    seen = Observation(
        of.id, model, condition, value=float(right), verdict=verdict, cluster=of.cluster, domain=of.domain
    )
    return Reply(replace(seen, **changes), of, chosen, tokens)


@cache
def plain(right: str, options: int) -> Question:
    return question(0, right, options)


def drawn(count: int, answer: Callable[[random.Random, str, int], str], seed: int, **arm: str) -> list[Reply]:
    draws = random.Random(seed)
    found = []
    for n in range(count):
        options = draws.randint(4, 8)
        right = LETTERS[draws.randrange(options)]
        found.append(reply(plain(right, options), answer(draws, right, options), question=f"q{n}", **arm))
    return found


def fair(draws: random.Random, right: str, options: int) -> str:
    """Right less often where there are more options, and wrong without a preference."""
    if draws.random() < 3 / options:
        return right
    return draws.choice([letter for letter in LETTERS[:options] if letter != right])


def shy_of_a(draws: random.Random, right: str, options: int) -> str:
    """As a model in the paper's table 5: half as often right where A is, and seldom wrong there."""
    given = fair(draws, right, options)
    return draws.choice(LETTERS[1:options]) if given == "A" and draws.random() < 0.5 else given


def levels(arm: ArmAccuracy) -> dict[str, tuple[int, float | None]]:
    return {each.level: (each.groups, each.accuracy.percent) for each in arm.levels}


def groups(arm: ArmAccuracy, by: str) -> dict[str, tuple[int, float | None]]:
    return {each.group: (each.accuracy.questions, each.accuracy.percent) for each in arm.groups if each.by == by}
