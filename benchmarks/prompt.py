"""What the model is asked: the same words under every condition, but for where a question's documents are."""

import json
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolablate.traces.records import CHARACTERS_PER_TOKEN, Condition, InputCut, Question, Shown, TextTarget
from toolablate.traces.records.pictures import marked

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
        "checklist": "Reply with the whole text that is asked for.",
        "files": "Files of this question: {}. Code that you can run, if any, finds them in its working folder.",
        "documents": "Documents of this question: {}.",
        "choices_only": "The question is not shown. Going by its options alone, say which is most likely right.",
        "question_only": "The options of this question are not shown. Answer it in your own words.",
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
        "checklist": "请在回复中写出所要求的全文。",
        "files": "本题的文件：{}。如果可以运行代码，代码能在其工作目录中找到这些文件。",
        "documents": "本题的文档：{}。",
        "choices_only": "题干未给出。请仅根据选项判断最可能正确的答案。",
        "question_only": "本题的选项未给出。请用自己的话作答。",
    },
}


def render(question: Question) -> str:
    """The user message: prompt, lettered choices, the names of its files and documents, and one line that says how to
    end the reply. Of a question that is asked as it is: its prompt, and these names.

    Files and documents are named whether or not a condition's tools can read them, so that all conditions see the same
    question.

    That several choices are right is said where the target has several letters, or where the question's metadata
    hold `"several": true`; set that for all questions of a benchmark where the number of right choices would give
    something away.
    """
    return "\n\n".join(_parts(question))


def _parts(question: Question, documents: Sequence[str] = ()) -> list[str]:
    """With the documents' texts, if any, behind the line that names them."""
    words = _words(question)
    parts = [question.prompt.strip()]
    if question.choices and not question.as_is:
        lettered = zip(letters_for(question), question.choices, strict=True)
        parts.append("\n".join(f"{letter}. {choice}" for letter, choice in lettered))
    if question.files:
        parts.append(words["files"].format(_named(file.name for file in question.files)))
    if question.documents:
        parts.append(words["documents"].format(_named(document.name for document in question.documents)))
        parts += documents
    if not question.as_is:
        parts.append(words[_form(question)])
    return parts


def _words(question: Question) -> dict[str, str]:
    return _WORDS["zh" if question.language.lower().startswith("zh") else "en"]


def _named(names: Iterable[str]) -> str:
    return ", ".join(json.dumps(name, ensure_ascii=False) for name in names)


def _form(question: Question) -> str:
    if question.target.kind != "choice":
        return question.target.kind
    several = len(question.target.letters) > 1 or question.metadata.get(SEVERAL) is True
    return "letters" if several else "letter"


# A question under one condition: with its documents in the prompt, and cut to a length.


@dataclass(frozen=True, slots=True)
class QuestionInput:
    """The user message, and what was cut of it; None where nothing was."""

    prompt: str
    cut: InputCut | None = None


def question_input(question: Question, condition: Condition) -> QuestionInput:
    """The question as a condition asks it: `render`, with whole documents where its `documents` has "prompt".

    A message of more than `input_tokens` (by estimate: CHARACTERS_PER_TOKEN) is cut from the end: of the documents if
    they are in the prompt, else of the question's own words. The names of files and the line that says how to end the
    reply stay.

    Where a condition shows a part of it, that part is asked as a question of its own.
    """
    question = _part(question, condition.shown)
    parts = _parts(question, _texts(question) if "prompt" in condition.documents else ())
    whole = "\n\n".join(parts)
    most = len(whole) if condition.input_tokens is None else condition.input_tokens * CHARACTERS_PER_TOKEN
    if len(whole) <= most:
        return QuestionInput(whole)
    over = len(whole) - most
    last = len(parts) - (0 if question.as_is else 1)
    first = last - len(question.documents) if "prompt" in condition.documents else 0
    # The documents from the last to the first, then the words of the question.
    for place in [*range(last - 1, first - 1, -1), 0] if first else [0]:
        kept = max(len(parts[place]) - over, 0)
        over -= len(parts[place]) - kept
        parts[place] = _shortened(parts[place], kept)
        if not over:
            break
    prompt = "\n\n".join(filter(None, parts))
    return QuestionInput(prompt, InputCut(kept=len(prompt), chars=len(whole)))


def _part(question: Question, shown: Shown) -> Question:
    """The choices without anything that the question brings along; or the question without its choices, asked for its
    answer in words."""
    if shown == "choices":
        alone = {"prompt": _words(question)["choices_only"], "files": (), "documents": (), "as_is": False}
        return question.model_copy(update=alone)
    if shown == "question":
        prompt = f"{_words(question)['question_only']}\n\n{question.prompt.strip()}"
        in_words = TextTarget(answers=question.choices)
        return question.model_copy(update={"prompt": prompt, "choices": (), "target": in_words})
    return question


def not_in_part(question: Question, shown: Shown) -> str:
    """Why a condition that shows this part of questions leaves this one out, to be read after "with"; "" where it does
    not."""
    if shown == "all":
        return ""
    if question.target.kind != "choice" or not question.choices:
        return "no choices that stand apart from the prompt"
    if shown == "choices":
        return "images" if question.images else ""
    if question.as_is:
        return "their choices in the prompt"
    if len(question.target.letters) > 1:
        return "several right choices"
    return "images in their choices" if question.images and any(map(marked, question.choices)) else ""


def _texts(question: Question) -> list[str]:
    return [
        f"<document name={json.dumps(document.name, ensure_ascii=False)}>\n{document.text.strip()}{_CLOSED}"
        for document in question.documents
    ]


_CLOSED = "\n</document>"


def _shortened(part: str, kept: int) -> str:
    """Its beginning. A document keeps its end mark, so that what follows is no part of it; where nothing of its text
    fits, it is left out."""
    if not part.endswith(_CLOSED) or kept >= len(part):
        return part[:kept]
    return part[: kept - len(_CLOSED)] + _CLOSED if kept > part.index("\n") + 1 + len(_CLOSED) else ""
