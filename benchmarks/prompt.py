"""What the model is asked: the same words under every condition."""

from toolablate.benchmarks.lettering import letters_for
from toolablate.traces.records import Question

SEVERAL = "several"

_ENDINGS = {
    "en": {
        "letter": 'End your reply with one line of the form "Answer: X", where X is the letter of the right choice.',
        "letters": 'End your reply with one line of the form "Answer: X, Y", with the letters of all right choices.',
        "number": 'End your reply with one line of the form "Answer: X", where X is a plain number.',
        "spans": 'End your reply with one line of the form "Answer: [...]", a JSON list of texts.',
    },
    "zh": {
        "letter": "请在回复的最后单独写一行“答案：X”，其中 X 是正确选项的字母。",
        "letters": "请在回复的最后单独写一行“答案：X, Y”，写出所有正确选项的字母。",
        "number": "请在回复的最后单独写一行“答案：X”，其中 X 是一个数字。",
        "spans": "请在回复的最后单独写一行“答案：[...]”，用 JSON 列表写出各项文字。",
    },
}


def render(question: Question) -> str:
    """The user message: prompt, lettered choices, and one line that says how to end the reply.

    That several choices are right is said where the target has several letters, or where the question's metadata
    hold `"several": true`; set that for all questions of a benchmark where the number of right choices would give
    something away.
    """
    endings = _ENDINGS["zh" if question.language.lower().startswith("zh") else "en"]
    parts = [question.prompt.strip()]
    if question.choices:
        lettered = zip(letters_for(question), question.choices, strict=True)
        parts.append("\n".join(f"{letter}. {choice}" for letter, choice in lettered))
    parts.append(endings[_form(question)])
    return "\n\n".join(parts)


def _form(question: Question) -> str:
    if question.target.kind != "choice":
        return question.target.kind
    several = len(question.target.letters) > 1 or question.metadata.get(SEVERAL) is True
    return "letters" if several else "letter"
