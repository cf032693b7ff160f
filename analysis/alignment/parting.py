"""Where two aligned conversations begin to speak for different answers."""

from collections.abc import Sequence

from toolablate.analysis.alignment.alignment import Alignment
from toolablate.analysis.alignment.steps import Step
from toolablate.analysis.attribution.signals.answers import AnswerForm
from toolablate.analysis.attribution.signals.leaning import final_answer, leaning
from toolablate.analysis.attribution.signals.records import Answered
from toolablate.analysis.attribution.signals.steps import THOUGHT_END
from toolablate.traces.records import Question

READ = 2_000
"""Characters of the end of a reply that is not the last one: many replies are read for one page."""


def stated_answers(steps: Sequence[Step], question: Question) -> tuple[Answered, ...]:
    """What the reply of each step speaks for at its end, () where it speaks for nothing; that of the last step as a
    final reply, which may be the answer and nothing else."""
    form = AnswerForm.of(question)
    return tuple(
        final_answer(_words(step).rpartition(THOUGHT_END)[2].strip(), form) or leaning(_words(step), form)
        if step is steps[-1]
        else leaning(_words(step)[-READ:], form)
        for step in steps
    )


def parting(alignment: Alignment, left: Sequence[Answered], right: Sequence[Answered]) -> int | None:
    """The row from which on the answers that the two sides last spoke for differ, to the end; None where they speak for
    the same in the end, or one of them for none. `left` and `right` are what the steps of each speak for."""
    ours: Answered = ()
    theirs: Answered = ()
    found = None
    for index, row in enumerate(alignment.rows):
        ours = (row.left is not None and left[row.left]) or ours
        theirs = (row.right is not None and right[row.right]) or theirs
        if not ours or not theirs or ours == theirs:
            found = None
        elif found is None:
            found = index
    return found


def _words(step: Step) -> str:
    if step.asked is None:
        return ""
    message = step.asked.reply.message
    return f"{message.reasoning}\n{message.content}" if message.reasoning else message.content
