"""A simulated model that acts out a scenario: real tools, real results, and the belief that the scenario makes of
them."""

import json
import random

from toolablate.agents.simulated.planted.mind import Situation, belief, drawn, script_turns, situation
from toolablate.agents.simulated.planted.scenario import CallKind, Scenario, Turn
from toolablate.agents.simulated.planted.wording import (
    answer_of,
    closing_words,
    formless_words,
    language_of,
    once_more,
    place_of,
)
from toolablate.agents.simulated.playbook import usage_of
from toolablate.agents.simulated.policy import understood
from toolablate.traces.records import (
    Condition,
    Message,
    ModelReply,
    ModelRequest,
    Question,
    SimulatedModel,
    ToolRequest,
)


def chance(model: SimulatedModel, question: Question, condition: Condition, repeat: int, purpose: str) -> random.Random:
    """The draws of one trial for one purpose: `answer` (one number in [0, 1), which decides the letter), `form`,
    `words`, or `turn K`. They are independent between trials, and so between counterfactuals."""
    key = f"{model.seed} {question.id} {condition.identity()} {repeat} {purpose}"
    return random.Random(key)  # noqa: S311 - a simulation, not a secret


class PlantedChat:
    """One trial. What it replies follows from the request alone, so that a conversation can be taken up anywhere."""

    def __init__(
        self, model: SimulatedModel, scenario: Scenario, question: Question, condition: Condition, repeat: int
    ) -> None:
        self._model = model
        self._scenario = scenario
        self._question = question
        self._condition = condition
        self._repeat = repeat

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        now = situation(request)
        turn = self._next_turn(request, now)
        message = self._calling(turn, now.turns, request) if turn else self._answering(request, now)
        return ModelReply(
            message=message,
            finish_reason="tool_calls" if turn else "stop",
            usage=usage_of(request, message),
            model=f"simulated/{self._model.name}",
        )

    def _next_turn(self, request: ModelRequest, now: Situation) -> Turn | None:
        if request.tool_choice == "none" or answer_of(request.messages, self._question):
            return None
        left = script_turns(self._scenario, now.kinds)[now.turns :]
        return left[0][1] if left else None

    def _calling(self, turn: Turn, number: int, request: ModelRequest) -> Message:
        offers = understood(request.tools)

        def arguments(kind: CallKind, text: str) -> str:
            return json.dumps({offers[kind].argument: text}, ensure_ascii=False)

        calls = tuple(
            ToolRequest(
                id=f"call_{number}_{place}", name=offers[call.kind].tool, arguments=arguments(call.kind, call.text)
            )
            for place, call in enumerate(turn.calls)
        )
        words = self._chance(f"turn {number}").choice(turn.says)
        return Message(role="assistant", content=words, tool_calls=calls)

    def _answering(self, request: ModelRequest, now: Situation) -> Message:
        said = answer_of(request.messages, self._question)
        if said and now.asked != "ignore_tools":
            return Message(role="assistant", content=once_more(said, self._question))
        answer = drawn(belief(self._scenario, now), self._chance("answer").random())
        words = self._chance("words")
        if now.turns and now.asked == "open" and self._chance("form").random() < self._scenario.loses_format:
            language = language_of(self._question)
            formless = words.choice(formless_words(language)).format(place_of(answer, language))
            return Message(role="assistant", content=formless)
        says = words.choice(self._scenario.reasons.get(answer, self._scenario.says))
        return Message(role="assistant", content=closing_words(says, answer, self._question))

    def _chance(self, purpose: str) -> random.Random:
        return chance(self._model, self._question, self._condition, self._repeat, purpose)
