"""Replies whose making is known."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from toolablate.benchmarks.encyclo_k.analyses import Reply
from toolablate.benchmarks.encyclo_k.analysis_results import ArmAccuracy
from toolablate.benchmarks.prompt import LETTERS
from toolablate.traces.records import ChoiceTarget, Question
from toolablate.traces.store import TrialSummary

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

REASONED = " We refer to Wikipedia articles on business for help. Wheat is a plant that has seeds."
# Answered, and gone on to other questions, as models do that were shown examples.
RUN_ON = (
    (REASONED + " The answer is (A).\n\nNow, combining all the answers, we have:\nThe answer is C.", "A"),
    (REASONED + " The answer is (A). Now, combining all the answers, we have: The answer is C.", "A"),
    ("The answer is (A). Now, combining all the answers, we have: The answer is C.", "A"),
    (
        REASONED
        + " The answer is (H).\n\nNow, let's summarize the answer choices and match them with the final answer.\nFinal Answer: \n1. **F** - Business\n2. **A** - Flat\n\nThe answer is:\nThe answer is **A** for the first.",
        "H",
    ),
    (REASONED + " The answer is (A).\n\nTo summarize the answers:\n\n1. (A)\n2. (C)\n\nThe answer is (C).", "A"),
    (REASONED + " The answer is (A).\n\nSo, the final answers to the questions are:\nThe answer is (C).", "A"),
    (
        REASONED
        + " The answer is (A).\n\nQuestion: What else?\nOptions: (A) 1 (B) 2\nAnswer: Let's think step by step. It is 2. The answer is (B).",
        "A",
    ),
    (REASONED + " The answer is (A).\n\nQ: What else?\nA: It is 2. The answer is (B).", "A"),
    (REASONED + " The answer is (J).\n\nQ2. What else?\nWait, it is 2. The answer is (B).", "J"),
    (REASONED + " The answer is (A).\n\nFinal Answer:\nThe answer is (F).", "A"),
    (REASONED + " The answer is (A).\n\nThe answer is (B).\n\nThe answer is (C).", "A"),
    (REASONED + " The answer is (A).\n\nWhat is two and two?\nA. three\nB. four\n\nAnswer: B", "A"),
    (
        REASONED
        + " The answer is (A).\n\nA block of 2 kg is pulled by 10 N. What is its acceleration?\n(A) 2 (B) 5\nLet's think step by step. It is 5. The answer is (B).",
        "A",
    ),
    ("小麦是植物。所以答案是C。\n\n题目：下列哪项正确？\nA. 一\nB. 二\n答案：D", "C"),
    ("小麦是植物。答案是C。\n\n综合以上所有题目的答案：\n答案是A。", "C"),
    ("小麦是植物。答案是C。\n\n下一题：水是什么？答案是B。", "C"),
    ("小麦是植物。答案是（C）。\n\n水是液体。答案是（B）。", "C"),
    (REASONED + " The answer is (A).<|im_end|>\n<|im_start|>user\nWhat else?<|im_end|>\nThe answer is (B).", "A"),
    (REASONED + " The answer is (A).\n\n[INST] What else? [/INST] The answer is (B).", "A"),
    (REASONED + " The answer is (A).\n\n### Instruction:\nWhat else?\n\n### Response:\nThe answer is (B).", "A"),
    (REASONED + " The answer is A. dry\n\nFinal Answer:\nThe answer is C. 15 N.", "A"),
    (REASONED + " So the correct answer is A.\n\nThe correct answer is B.", "A"),
    (REASONED + " **The answer is (A).**\n\n---\n\n**The answer is (B).**", "A"),
)
# Answered, and corrected.
CORRECTED = (
    (REASONED + " The answer is (A).\n\nWait, I misread the question. It is a mass. The answer is (D).", "D"),
    (REASONED + " The answer is (A).\n\nHowever, the mass is 3 kg, so the answer is (D).", "D"),
    (REASONED + " The answer is (A).\n\nThe mass is 3 kg. However, there is more to it. The answer is (D).", "D"),
    (REASONED + " The answer is (A).\n\nLet me double-check this. It is 3 kg. So the answer is (D).", "D"),
    (REASONED + " The answer is (A).\n\nUpon closer inspection, it is 3 kg. The answer is (D).", "D"),
    (REASONED + " The answer is (A).\n\nI apologize, I made a mistake: it is 3 kg. The answer is (D).", "D"),
    (REASONED + " So the answer is A.\n\nThus it is 3 kg.\n\n\\boxed{D}", "D"),
    (REASONED + " The answer is (A).\n\nFinal Answer: D. smooth", "D"),
    (REASONED + " The answer is (A).\n\nThis means that bread is meant.\n\nAnswer: D", "D"),
    ("小麦是植物。答案是A。\n\n等等，重新计算：是面包。答案是D。", "D"),
    ("小麦是植物。答案是A。\n\n但是面包也有小麦。所以答案是D。", "D"),
    (
        "Answer: A\n\nExplanation: bread is made of flour and flour of rye, as everybody knows. Therefore, the answer is D.",
        "D",
    ),
    (
        REASONED
        + " The answer is (A).\n\nWait, it is 3 kg. The answer is (D).\n\nQuestion: What else?\nThe answer is (B).",
        "D",
    ),
    (
        REASONED
        + " The answer is (A).\n\nWait, it is 3 kg. The answer is (D).\n\nNow, combining all the answers, we have:\nThe answer is (B).",
        "D",
    ),
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
    seen = TrialSummary(
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
