"""Thoughts that stand in a reply are no part of what it says, whatever tags an endpoint uses."""

import pytest

from toolablate.benchmarks.answer_extraction.announcements import final_part
from toolablate.benchmarks.scoring.code import read_code
from toolablate.traces.thoughts import after_thoughts


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        *[("<think>", "</think>"), ("", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")],
        *[("[THINK]", "[/THINK]"), ("◁think▷", "◁/think▷"), ("<seed:think>", "</seed:think>")],
    ],
)
def test_only_what_comes_after_them_counts(begin: str, end: str) -> None:
    reply = f"{begin}Answer: A\n```python\nx = 1\n```{end}\nAnswer: B"
    assert after_thoughts(reply).strip() == final_part(reply).strip() == "Answer: B"
    assert read_code(reply).value is None


def test_thoughts_that_never_end_say_nothing() -> None:
    assert after_thoughts(" <think>Answer: A") == ""
    assert after_thoughts("What <think> means: Answer: A") == "What <think> means: Answer: A"
