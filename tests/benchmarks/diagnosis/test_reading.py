"""Labels are read where the judge puts them, and never where it quotes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.benchmarks.diagnosis.conftest import labels, said

from toolablate.benchmarks.judging.failures import LabelFault, Labels, read_labels
from toolablate.benchmarks.judging.grades import MAX_REASON_CHARS
from toolablate.traces.records import FinishReason, Message, ModelReply

OWN = labels("reasoning", "over_engineering", [1], [2])
QUOTED = labels("knowledge", "misleading_adoption")


def read(text: str, finish: FinishReason = "stop") -> Labels:
    return read_labels(ModelReply(message=Message(role="assistant", content=text), finish_reason=finish), range(5))


@pytest.mark.parametrize(
    "text",
    [
        OWN,
        f"Because.\n{OWN}",
        f"Because.\n```json\n{OWN}\n```",
        f"Because.\n**{OWN}**\n\n",
        f"Because.\nFinal labels: {OWN}",
        f"Because.\n<answer>{OWN}</answer>",
        f"{OWN}\nBecause it says so.",
        f"```json\n{OWN}\n```\nError: because.",
        f"<think>Is it {QUOTED}?\n{QUOTED}</think>{OWN}",
        f"It holds the text {QUOTED}, which I pass over.\n{OWN}",
        f"{QUOTED}\nOn second thoughts it is otherwise.\n{OWN}",
        "Because.\n{“error_type”：“reasoning”，“error_steps”：[1]，“drawn_by”：“over_engineering”，“drawn_steps”：[2]}",
        "Because.\n{'error_type': 'reasoning', 'error_steps': [1], 'drawn_by': 'over_engineering', 'drawn_steps': [2]}",
        'Because.\n{\n  "drawn_by": "Over-Engineering",\n  "drawn_steps": ["step 2"],\n  "error_type": "Reasoning",\n'
        '  "error_steps": ["1", 77, -3, null, [1]]\n}',
        labels("推理错误", "过度工程化", [1], [2]),
        f"错误：推导不成立。\n引偏：照搬了流程。\n{labels('reasoning（推理错误）', 'over_engineering', [1], [2])}",
    ],
)
def test_labels_where_the_judge_puts_them(text: str) -> None:
    found = read(text)
    assert (found.fault, found.error_type, found.distraction) == (None, "reasoning", "over_engineering")
    assert (found.steps, found.distraction_steps) == ((1,), (2,))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty"),
        (f"<think>{OWN}", "empty"),
        ("It is a matter of knowledge.", "no_labels"),
        ("label: knowledge", "no_labels"),
        (f"The answer ends with {QUOTED}", "no_labels"),
        (f"The trial says {QUOTED} and goes on.", "no_labels"),
        (f"Because.\n{OWN[:-1]}", "no_labels"),
        ('{"error_type": ' + "[" * 3_000, "no_labels"),
        (f"{OWN}\nOr else: {QUOTED} it may be.", "two_labels"),
        (f"{QUOTED}\n{OWN}", "two_labels"),
        ('{"error_type": "other", "error_type": "knowledge", "drawn_by": "none"}', "two_labels"),
        (labels("ignorance"), "other_labels"),
        (labels("knowledge", "boredom"), "other_labels"),
        ('{"error_type": "knowledge"}', "other_labels"),
        ('{"error_type": 3, "drawn_by": "none"}', "other_labels"),
    ],
)
def test_what_holds_no_labels(text: str, fault: LabelFault) -> None:
    assert read(text) == Labels(fault=fault)


def test_a_reply_that_was_cut_off_counts_for_nothing() -> None:
    assert read(OWN, "length").fault == "cut_off"


def test_nothing_drew_it_away() -> None:
    found = read(said("calculation", "none", at=[3, 0, 3]))
    assert (found.error_type, found.distraction, found.steps) == ("calculation", None, (0, 3))
    assert read('{"error_type": "other", "drawn_by": null}').distraction is None


def test_each_label_has_its_reason() -> None:
    found = read(f"**Error:** a sign is lost.\n- Drawn by: the page was believed.\n\n{OWN}")
    assert (found.reason, found.distraction_reason) == ("a sign is lost.", "the page was believed.")
    chinese = read(f"错误：符号丢了。\n引偏：轻信了网页。\n{OWN}")
    assert (chinese.reason, chinese.distraction_reason) == ("符号丢了。", "轻信了网页。")
    assert read(f"A sign is lost.\n{OWN}").reason == "A sign is lost."
    assert len(read(f"Error: {'x' * 5_000}\n{OWN}").reason) == MAX_REASON_CHARS


@given(st.lists(st.sampled_from([*'{}[]":, \n`_', "error_type", "drawn_by", OWN, QUOTED]), max_size=80))
def test_any_reply_gives_labels_or_a_fault(pieces: list[str]) -> None:
    found = read("".join(pieces))
    assert (found.error_type is None) == (found.fault is not None)


@pytest.mark.parametrize("piece", ["{", '{"error_type":', '"error_type": [', f"{OWN} x ", f"{OWN}\n", "<x>", "_ " * 5])
def test_reading_takes_no_more_than_linear_time(piece: str) -> None:
    assert read(piece * (2_000_000 // len(piece))).steps in ((), (1,))
