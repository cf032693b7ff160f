"""What the model is asked: the same words under every condition."""

import json
import string

from toolablate.traces.records import Question

LETTERS = string.ascii_uppercase


def letters_for(question: Question) -> str:
    """The letters of a question's choices in order; all 26 where the choices stand in the prompt itself."""
    return LETTERS[: len(question.choices)] if question.choices else LETTERS


SEVERAL = "several"

_WORDS = {
    "en": {
        "letter": 'End your reply with one line of the form "Answer: X", where X is the letter of the right choice.',
        "letters": 'End your reply with one line of the form "Answer: X, Y", with the letters of all right choices.',
        "number": 'End your reply with one line of the form "Answer: X", where X is a plain number.',
        "spans": 'End your reply with one line of the form "Answer: [...]", a JSON list of texts.',
        "text": 'End your reply with one line of the form "Answer: X", where X is the answer and nothing else.',
        "math": 'End your reply with one line of the form "Answer: X", where X is the answer, in LaTeX if need be.',
        "regex": "End your reply with your final answer.",
        "code": "End your reply with one Python code block that holds all of your code.",
        "reference": "End your reply with your final answer.",
        "files": "Files of this question: {}. Code that you can run, if any, finds them in its working folder.",
    },
    "zh": {
        "letter": "请在回复的最后单独写一行“答案：X”，其中 X 是正确选项的字母。",
        "letters": "请在回复的最后单独写一行“答案：X, Y”，写出所有正确选项的字母。",
        "number": "请在回复的最后单独写一行“答案：X”，其中 X 是一个数字。",
        "spans": "请在回复的最后单独写一行“答案：[...]”，用 JSON 列表写出各项文字。",
        "text": "请在回复的最后单独写一行“答案：X”，其中 X 只写答案本身。",
        "math": "请在回复的最后单独写一行“答案：X”，其中 X 只写答案本身，必要时用 LaTeX。",
        "regex": "请在回复的最后写出最终答案。",
        "code": "请在回复的最后用一个 Python 代码块给出全部代码。",
        "reference": "请在回复的最后写出最终答案。",
        "files": "本题的文件：{}。如果可以运行代码，代码能在其工作目录中找到这些文件。",
    },
}


def render(question: Question) -> str:
    """The user message: prompt, lettered choices, the names of its files, and one line that says how to end the reply.
    Of a question that is asked as it is: its prompt, and the names of its files.

    The files are named whether or not a condition's tools can read them, so that all conditions see the same question.

    That several choices are right is said where the target has several letters, or where the question's metadata
    hold `"several": true`; set that for all questions of a benchmark where the number of right choices would give
    something away.
    """
    words = _WORDS["zh" if question.language.lower().startswith("zh") else "en"]
    parts = [question.prompt.strip()]
    if question.choices and not question.as_is:
        lettered = zip(letters_for(question), question.choices, strict=True)
        parts.append("\n".join(f"{letter}. {choice}" for letter, choice in lettered))
    if question.files:
        names = (json.dumps(file.name, ensure_ascii=False) for file in question.files)
        parts.append(words["files"].format(", ".join(names)))
    if not question.as_is:
        parts.append(words[_form(question)])
    return "\n\n".join(parts)


def _form(question: Question) -> str:
    if question.target.kind != "choice":
        return question.target.kind
    several = len(question.target.letters) > 1 or question.metadata.get(SEVERAL) is True
    return "letters" if several else "letter"
