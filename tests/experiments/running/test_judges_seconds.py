"""The seconds of what a judge was asked: those of the request, without waits for a place in line or between tries."""

import asyncio

from tests.agents.conftest import QUICK
from tests.agents.limited import REPLY, REQUEST

from toolablate.agents.pacing import note_wait
from toolablate.experiments.running.grading import JudgeCalls
from toolablate.traces.errors import ModelError
from toolablate.traces.records import ModelReply, ModelRequest, OpenAIModel


class _Held:
    """Waits for its turn for longer than any test takes; its first try fails."""

    tries = 0

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        self.tries += 1
        note_wait(1e6)
        if self.tries == 1:
            raise ModelError("slow down", code="server_error", retryable=True)
        return REPLY


def test_waits_are_not_counted() -> None:
    model = OpenAIModel(name="m", endpoint="http://127.0.0.1:1/v1")
    call, seconds = asyncio.run(JudgeCalls(_Held(), model, QUICK, seed="s").timed(REQUEST))
    assert call.reply == REPLY
    assert seconds == 0.0
