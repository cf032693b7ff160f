"""How the final reply ended, and whether an answer can be in it."""

from toolablate.analysis.attribution.signals.answers import AnswerForm
from toolablate.analysis.attribution.signals.leaning import can_hold_answer
from toolablate.analysis.attribution.signals.records import Ending
from toolablate.analysis.attribution.signals.steps import Steps, model_calls
from toolablate.traces.records import Trace


def ending(trace: Trace, steps: Steps, form: AnswerForm) -> Ending:
    """A reply that breaks off and is asked for once more counts as it ended at last."""
    last = next((event for _, event in reversed(list(model_calls(trace)))), None)
    cut_off = last is not None and last.reply.finish_reason == "length"
    return Ending(steps.ended, cut_off, not can_hold_answer(steps.final, form))
