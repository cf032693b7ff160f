"""The letters by which the choices of a question are called."""

import string

from toolablate.traces.records import Question

LETTERS = string.ascii_uppercase


def letters_for(question: Question) -> str:
    """The letters of a question's choices in order; all 26 where the choices stand in the prompt itself."""
    return LETTERS[: len(question.choices)] if question.choices else LETTERS
