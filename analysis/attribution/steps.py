"""The steps of a trial, at which a model can be asked what it would answer now."""

from collections.abc import Sequence

from toolablate.traces.records import Event, ModelCall, ToolCall


def belief_steps(conversation: Sequence[Event]) -> tuple[int, ...]:
    """Events before which the belief can have changed, by their indices: every request that was answered, and the first
    tool call after each. So between two neighbours lies either one reply of the model, with the calls that it makes, or
    the results of these. Before the first the model knows the question alone, before the last all but its own final
    reasoning.
    """
    asked = [index for index, event in enumerate(conversation) if isinstance(event, ModelCall)]
    called = [index for index, event in enumerate(conversation) if isinstance(event, ToolCall)]
    ends = [*asked[1:], len(conversation)] if asked else []
    first = (
        next((call for call in called if start < call < end), None) for start, end in zip(asked, ends, strict=True)
    )
    return tuple(sorted({*asked, *(index for index in first if index is not None)}))
