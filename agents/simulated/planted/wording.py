"""What a model with a scenario writes at the end, and how it finds its own answer in that again."""

import re
from collections.abc import Sequence
from string import ascii_uppercase

from toolablate.traces.records import Message, Question

_FORM = {"en": "Answer: {}", "zh": "答案：{}"}
_IN_FORM = re.compile(r"^(?:Answer: |答案：)([A-Z](?:, [A-Z])*)$", re.MULTILINE)

# Nothing here may be read as an answer by a scorer, and each tells the place of one to whoever wrote it.
_PLACES = {
    "en": ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    "zh": ("一", "二", "三", "四", "五", "六", "七", "八", "九", "十"),
}
_WITHOUT_FORM = {
    "en": (
        "All of this speaks for the {} one on the list, and for none of the others.",
        "So I would go with the {} of them, for the reasons above.",
        "That settles it in favour of the {} possibility.",
    ),
    "zh": ("综合以上考虑，我倾向于列表中的第{}项。", "因此，上面列出的第{}项最为合理。"),
}
_SAID_BEFORE = {"en": "As I said above.", "zh": "如上所述。"}


def language_of(question: Question) -> str:
    return "zh" if question.language.lower().startswith("zh") else "en"


def closing_words(says: str, answer: str, question: Question) -> str:
    """A final reply in the form that the question asks for; several letters name several choices."""
    text = "; ".join(question.choices[ascii_uppercase.index(letter)] for letter in answer)
    words = says.replace("{answer}", ", ".join(answer)).replace("{text}", text)
    return f"{words}\n\n{_FORM[language_of(question)].format(', '.join(answer))}".lstrip()


def once_more(answer: str, question: Question) -> str:
    """The answer that was given before, in the form."""
    language = language_of(question)
    return f"{_SAID_BEFORE[language]}\n\n{_FORM[language].format(', '.join(answer))}"


def formless_words(language: str) -> tuple[str, ...]:
    """Final replies from which no scorer reads an answer; {} stands for what `place_of` gives."""
    return _WITHOUT_FORM[language]


def place_of(letter: str, language: str) -> str:
    return _PLACES[language][ascii_uppercase.index(letter)]


def is_in_form(message: Message) -> bool:
    """Whether a final reply is in the form that the question asks for."""
    return bool(_IN_FORM.search(message.content))


def answer_of(messages: Sequence[Message], question: Question) -> str | None:
    """The letter of the last final reply among these messages, in its form or not, or its letters as "DE"; None where
    there is none."""
    said = [message.content for message in messages if message.role == "assistant" and not message.tool_calls]
    if not said:
        return None
    if in_form := _IN_FORM.findall(said[-1]):
        return str(in_form[-1]).replace(", ", "")
    language = language_of(question)
    letters = ascii_uppercase[: len(question.choices)]
    written = {
        words.format(place_of(letter, language)): letter for words in formless_words(language) for letter in letters
    }
    return written.get(said[-1])
