"""A grade is read where the judge puts it, and never where it quotes one."""

import pytest

from toolablate.benchmarks.answer_extraction.announcements import final_part
from toolablate.benchmarks.judging.grades import MAX_REASON_CHARS, Fault, read_grade
from toolablate.traces.records import Message, ModelReply

J0, J1 = '{"answer_score": 0}', '{"answer_score": 1}'

RIGHT = [
    J1,
    f"Both agree.\n{J1}",
    f"Both agree.\n\n{J1}\n",
    f"```json\n{J1}\n```",
    f"It fits.\n```json\n{J1}\n```\n",
    f"It fits.\n```\n{J1}\n```",
    "It fits.\n`" + J1 + "`",
    f"It fits.\n**{J1}**",
    f"It fits.\n> {J1}",
    f"- It fits.\n- {J1}",
    'It fits.\n{ "answer_score" : 1 }',
    'It fits.\n{"answer_score":1}',
    'It fits.\n{\n  "answer_score": 1\n}',
    'It fits.\n{"answer_score":\n1}',
    'It fits.\n{"answer_score": "1"}',
    "It fits.\n{'answer_score': 1}",
    "It fits.\n{'answer_score': '1'}",
    "It fits.\n{“answer_score”: 1}",
    "It fits.\n{answer_score: 1}",
    'It fits.\n{"answer_score"：1}',
    'It fits.\n{"answer_score": １}',
    'It fits.\n{"answer_score": 1.0}',
    'It fits.\n{"answer_score": 1,}',
    'It fits.\n{"Answer_Score": 1}',
    'It fits.\n{"answer\\_score": 1}',
    'It fits.\n{\\"answer_score\\": 1}',
    'It fits.\n{"answer_score": 1}.',
    "answer_score: 1",
    '{"reason": "It fits.", "answer_score": 1}',
    '{"answer_score": 1, "reason": "It fits."}',
    '{"reason": "It fits", "answer_score": 1}',
    '{\n"answer_score": 1,\n"reason": "It fits: 0 of 3 points are missed."\n}',
    f"It fits.\n[{J1}]",
    f"It fits.\n<result>{J1}</result>",
    f"It fits.\n{J1}</s>",
    f"It fits. {J1}",
    f"It fits! JSON: {J1}",
    f"It fits.\nJSON output: {J1}",
    f"It fits.\n**Final grade:** {J1}",
    f"It fits.\nHere is the result in JSON format: {J1}",
    f"It fits.\nThe final score is {J1}",
    f"两者一致。\n最终结果：{J1}",
    f"理由：与参考答案一致。{J1}",
    f"评分依据：与参考答案一致。\n得分：1\nJSON：\n{J1}",
    f"Grading Basis: It fits.\nScore: 1\nJSON:\n{J1}",
    f"Grading Basis: It fits. Score: 1 JSON: {J1}",
    f"**Grading Basis:** It fits.\n**Score:** 1\n**JSON:** {J1}",
    f"<think>It may be wrong.\n{J0}\nNo, it fits.</think>It fits.\n{J1}",
    f"It may be {J0}...</think>\n\n{J1}",
    f"[THINK]{J0}[/THINK]It fits.\n{J1}",
    f"◁think▷{J0}◁/think▷{J1}",
    f"The second point is missed.\n{J0}\nNo: it is there, in other words.\n{J1}",
    f"The answer holds {J0}, which counts for nothing. It is right.\n{J1}",
    f"The form is {{'answer_score': x}}.\nSo:\n{J1}",
    f"Both give the score as 7.\nThe score is 7 points in both.\n{J1}",
    f"The first point is missed.\nScore: 0\nNo: it is there, in other words.\n{J1}",
    '{"answer_score": 1, "reason": "It fits."}\n\nAll points are met.',
    f"{J1}\n\nExplanation: the answer says what the reference does.",
    f"```json\n{J1}\n```\nAll points are met.",
    f"First thought it was\nScore: 0\nbut no.\nScore: 1\n{J1}",
    "It fits.\nScore: 1",
    "It fits.\nScore：1",
    "It fits.\n**Score: 1**",
    "It fits.\n**Score:** 1",
    "It fits.\n**Score**: **1**",
    "It fits.\nscore = 1",
    "It fits.\nFinal score: 1",
    "It fits.\nThe final score is 1.",
    'It fits.\nScore: "1"',
    "It fits.\nScore: [1]",
    "It fits.\nScore: 1 point",
    "It fits.\nScore: 1.0",
    f"It fits.\n{J1}\nScore: 1",
    "It fits.\nScore: 1 (all points are met)",
    "It fits. Score: 1",
    "It fits.\n# Score: 1\n",
    '{"score": 1}',
    "两者一致。\n得分：1",
    "两者一致。\n得分: 1分",
    "两者一致。得分：1",
    "两者一致。\n评分：１",
    "两者一致。\n分数：1。",
    "两者一致。\n**最终得分：1**",
    "两者一致。\n【得分】：1",
    "两者一致。\n最终评分为1",
    "两者一致。\n得分是 1 分。",
    "Score: 1\nReason: all points are met.",
]

WRONG = [
    J0,
    f"They differ.\n{J0}",
    "They differ.\n{'answer_score': '0'}",
    "They differ.\n\n**Score: 0**",
    "不一致。\n得分：0分",
    f"评分依据：第二点没有提到。\n得分：0\nJSON：{J0}",
    f'The answer says "{J1}", which counts for nothing.\n{J0}',
    f"The answer ends with\n{J1}\nand that is an attempt to grade itself.\n{J0}",
    f"The answer says\nScore: 1\nof itself.\nScore: 0\n{J0}",
    "The answer says Score: 1 of itself.\nScore: 0",
    f"It fits.\n{J1}\nOn a second look the unit is wrong.\n{J0}",
]

BROKEN: dict[str, Fault] = {
    "": "empty",
    " \n\t": "empty",
    f"<think>It fits.\n{J1}": "empty",
    f"<think>It fits.\n{J1}</think>": "empty",
    "The answer is right.": "no_grade",
    "1": "no_grade",
    "Yes": "no_grade",
    "The score is high.": "no_grade",
    "Score: correct": "no_grade",
    "I cannot grade this.": "no_grade",
    "评分依据：一致": "no_grade",
    '{"grade": "correct"}': "no_grade",
    f"The answer tries to be graded by {J1}": "no_grade",
    f"The answer asks for the grade: {J1}": "no_grade",
    "{a} is the set, and it asks for answer_score: 1": "no_grade",
    f"The answer tries {J1}.": "no_grade",
    f'"{J1}" is no answer to the question.': "no_grade",
    f"The answer ends in </think>\n{J1}\nand that is all it says.": "no_grade",
    f"The answer says\n{J1}\nof itself, and that is all it says.": "no_grade",
    "The answer says\nScore: 1\nof itself, and that is all it says.": "no_grade",
    'The student writes "Score: 1".': "no_grade",
    "The student writes at the end, Score: 1": "no_grade",
    "They differ.\nScore: 1 is what the answer asks for": "no_grade",
    '{"answer_score": 0.5}': "other_grade",
    '{"answer_score": 2}': "other_grade",
    '{"answer_score": -1}': "other_grade",
    '{"answer_score": 10}': "other_grade",
    '{"answer_score": null}': "other_grade",
    '{"answer_score": true}': "other_grade",
    '{"answer_score": }': "other_grade",
    '{"answer_score": "1 or 0"}': "other_grade",
    '{"answer_score": 0/1}': "other_grade",
    '{"answer_score": your score}': "other_grade",
    '{"answer_score": 1e0}': "other_grade",
    '{"answer_score": 11111111111111111111}': "other_grade",
    "Score: 0.5": "other_grade",
    "Score: 11": "other_grade",
    "Score: 1e0": "other_grade",
    "Score: 1 to 0": "other_grade",
    "Score: 3": "other_grade",
    "Score: 0/1": "other_grade",
    "Score: 1/1": "other_grade",
    "Score: 0 or 1": "other_grade",
    "Score: 100%": "other_grade",
    "Score: 1%": "other_grade",
    "得分：0或1": "other_grade",
    "得分：0.5分": "other_grade",
    f"{J1}\n{J0}": "two_grades",
    f"{J1}{J0}": "two_grades",
    f"{J1}\nFinal grade: {J0}": "two_grades",
    f"{J1}\n\nScore: 0\nJSON:\n{J0}": "two_grades",
    '{"answer_score": 1, "answer_score": 0}': "two_grades",
    f"They differ.\n{J0}\n```\n{J1}\n```": "two_grades",
    f"It fits.\nScore: 0\n{J1}": "two_grades",
    f"It fits.\n得分：0\n{J1}": "two_grades",
    f"It fits.\n{J1}\nScore: 0": "two_grades",
    f"It fits.\nScore: 0.5\n{J1}": "two_grades",
    '{"reason": "it asks for \'answer_score: 1\' and nothing else", "answer_score": 0}': "two_grades",
    f"{J1}\nScore: 0 of 1": "two_grades",
    f"Score: 0 JSON: {J1}": "two_grades",
    f"{J0} is what I would say, but the answer asks for {J1}": "two_grades",
    f"They differ.\n{J0}\nThe answer tried to sneak in {J1}.": "two_grades",
    f"{J0}\nNote that the answer said {J1} of itself, in vain.": "two_grades",
}


def said(text: str, **reply: str) -> ModelReply:
    return ModelReply.model_validate(
        {"message": Message(role="assistant", content=text), "finish_reason": "stop", **reply}
    )


@pytest.mark.parametrize("text", RIGHT)
def test_a_one_is_read(text: str) -> None:
    grade = read_grade(said(text))
    assert (grade.value, grade.fault) == (1, None)


@pytest.mark.parametrize("text", WRONG)
def test_a_zero_is_read(text: str) -> None:
    grade = read_grade(said(text))
    assert (grade.value, grade.fault) == (0, None)


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_format_is_none(text: str) -> None:
    grade = read_grade(said(text))
    assert (grade.value, grade.fault, grade.reason) == (None, BROKEN[text], "")


def test_a_reply_that_was_cut_off_is_none_whatever_it_says() -> None:
    assert read_grade(said(J1, finish_reason="length")).fault == "cut_off"


REASONS = {
    f"Both name 12 V.\n{J1}": "Both name 12 V.",
    f"Reason: both name 12 V.\n\n```json\n{J1}\n```": "both name 12 V.",
    f"**Reason:** both name 12 V.\n{J1}": "both name 12 V.",
    f"Grading Basis: both name 12 V.\nScore: 1\nJSON:\n{J1}": "both name 12 V.",
    f"Grading Basis: both name 12 V. Score: 1 JSON: {J1}": "both name 12 V.",
    f"评分依据：都是 12 伏（第一点）。\n得分：1\nJSON：{J1}": "都是 12 伏（第一点）。",
    f"【评分依据】：都是 12 伏。\n【得分】：1分\n【JSON】：{J1}": "都是 12 伏。",
    f"The answer computes a current first.\n\nReason: both\nname 12 V.\n\n{J1}": "both name 12 V.",
    f"The answer computes a current first.\n\nBoth name 12 V.\n\n{J1}": "Both name 12 V.",
    '{"reason": "both name 12 V.", "answer_score": 1}': "both name 12 V.",
    '{"answer_score": 1, "reason": "both name 12 V."}': "both name 12 V.",
    f"{J1}\nExplanation: both name 12 V.": "both name 12 V.",
    "Both name 12 V.\nScore: 1": "Both name 12 V.",
    "Score: 1\nBoth name 12 V.": "Both name 12 V.",
    f"<think>hm</think>{J1}": "",
    J1: "",
}


@pytest.mark.parametrize("text", REASONS)
def test_the_reason_is_what_the_judge_says_for_its_grade(text: str) -> None:
    assert read_grade(said(text)).reason == REASONS[text]


def test_a_long_reason_is_cut() -> None:
    reason = read_grade(said(f"{'word ' * 5_000}\n{J1}")).reason
    assert len(reason) == MAX_REASON_CHARS
    assert reason.endswith("…")


def test_plain_characters_leave_every_place_where_it_is() -> None:
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    assert len(final_part(every)) == len(every)


UNITS = [
    "answer_score",
    '{"answer_score": 1}',
    '{"answer_score": 0} no ',
    '"answer_score": 1,',
    "answer_score:1,",
    "answer_score" + " " * 39,
    "answer_score: \\\"'",
    "Score: 1\n",
    "Score: 1 ",
    ". Score: 0.5",
    "Score: ",
    "得分：",
    "得分：1\n",
    "the final overall ",
    "\n> ** ",
    "{",
    "}",
    "<a>",
    "<.>",
    "<",
    ",",
    "_",
    "`",
    "json ",
    "Reason: ",
    "\n\n",
    "</think>",
    "<think>",
    " ",
    "\u3000",
    "1",
    ".",
]


# The slowest per character of them.
WORST = ["Score: 1\n", "得分：1\n", ".", "\n> ** ", "answer_score:1,"]
AROUND = [("", ""), ("It fits.\n" + J1 + ", ", "a"), ("", "\n" + J1)]


@pytest.mark.deep
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("unit", "around", "characters"),
    [(unit, around, 100_000) for unit in UNITS for around in AROUND] + [(unit, AROUND[0], 1_000_000) for unit in WORST],
)
def test_long_hostile_replies_are_read(unit: str, around: tuple[str, str], characters: int) -> None:
    """A pattern that backtracks badly would take hours on these."""
    grade = read_grade(said(around[0] + unit * (characters // len(unit)) + around[1]))
    assert (grade.value is None) == (grade.fault is not None)
