"""A simulated model: beliefs that are drawn once, tools that are really called, results that really move it."""

import json
import random
from pathlib import Path

from toolablate.agents.chat import ChatModel
from toolablate.agents.simulated.planted.chat import PlantedChat
from toolablate.agents.simulated.planted.reading import Scenarios
from toolablate.agents.simulated.playbook import Playbook, usage_of
from toolablate.agents.simulated.policy import before_calls, final_reply, findings, intentions, next_calls, understood
from toolablate.agents.simulated.simulated_belief import Belief, Finding, opening_belief, persuade
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Condition,
    Message,
    ModelReply,
    ModelRequest,
    Question,
    SimulatedModel,
    ToolRequest,
)


class SimulatedSource:
    """All trials of one simulated model; `builtin` is the playbook that its record calls "builtin"."""

    def __init__(self, model: SimulatedModel, *, builtin: Path | None = None) -> None:
        if model.playbook == "builtin" and builtin is None:
            raise InputError(f"model {model.name!r}: no built-in playbook was given", code="no_playbook")
        if model.playbook and model.scenarios:
            raise InputError(
                f"model {model.name!r}: it has both a playbook and scenarios",
                hint="leave one out",
                code="bad_scenarios",
            )
        self._model = model
        self._scenarios = Scenarios(Path(model.scenarios)) if model.scenarios else None
        self._playbook = Playbook(builtin if model.playbook in ("", "builtin") else Path(model.playbook))

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        if self._scenarios is not None:
            return PlantedChat(self._model, self._scenarios.of(question), question, condition, repeat)
        return SimulatedChat(self._model, self._playbook, question, condition, repeat)

    async def close(self) -> None:
        return None


class SimulatedChat:
    """One trial. What it replies follows from the request alone, so that a conversation can be taken up anywhere.

    The belief, the program it would write and its eagerness are the same under every condition; the answer is drawn
    from the belief anew under each, as a real model's would be.
    """

    def __init__(
        self, model: SimulatedModel, playbook: Playbook, question: Question, condition: Condition, repeat: int
    ) -> None:
        self._model = model
        resumed = condition.resumed
        # What goes on from another trial has its beliefs and its habits; its repeats are draws from these.
        self._draw = f"{condition.identity()} {repeat}" if resumed else condition.identity()
        self._key = f"{model.seed} {question.id} {resumed.repeat if resumed else repeat}"
        self._prompt = question.prompt
        self._play = playbook.play(question)
        self._programs = self._play.repertoire(self._rng("literal").random() < model.literalness)
        # Nothing is known of a question that is not shown: a guess.
        knows = model if condition.shown != "choices" else model.model_copy(update={"confidence": 0.0})
        self._opening = opening_belief(question, knows, self._rng("belief"), self._play.distractor)
        self._in_words = condition.shown == "question"

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        turn = sum(message.role == "assistant" for message in request.messages)
        calls = self._calls(request, turn)
        message = self._calling(calls, turn) if calls else Message(role="assistant", content=self._answer(request))
        return ModelReply(
            message=message,
            finish_reason="tool_calls" if calls else "stop",
            usage=usage_of(request, message),
            model=f"simulated/{self._model.name}",
        )

    def belief(self, request: ModelRequest) -> Belief:
        """What it believes after the conversation so far."""
        return persuade(self._opening, self._seen(request), self._model.trust)

    def _seen(self, request: ModelRequest) -> list[Finding]:
        return findings(request.messages, understood(request.tools))

    def _calls(self, request: ModelRequest, turn: int) -> list[tuple[str, dict[str, str]]]:
        if request.tool_choice == "none" or not request.tools:
            return []
        must = request.tool_choice != "auto"
        named = [tool for tool in request.tools if tool.name == request.tool_choice]
        tools = named or request.tools
        offers = understood(tools)
        turns = intentions(offers, self._programs, self._model.eagerness, self._rng("intentions"), must=must)
        calls = next_calls(
            turns, offers, self._seen(request), turn, self._programs, self._play.queries, self._rng("turn", turn)
        )
        if must and not calls:
            offer = next(iter(offers.values()), None)
            text = next(iter(self._play.queries), self._prompt)
            return [(offer.tool, {offer.argument: text}) if offer else (tools[0].name, {})]
        return calls

    def _calling(self, calls: list[tuple[str, dict[str, str]]], turn: int) -> Message:
        requests = tuple(
            ToolRequest(id=f"call_{turn}_{position}", name=tool, arguments=json.dumps(arguments, ensure_ascii=False))
            for position, (tool, arguments) in enumerate(calls)
        )
        kinds = [{"code": "code", "url": "open"}.get(next(iter(arguments), ""), "query") for _, arguments in calls]
        return Message(role="assistant", content=before_calls(kinds, self._rng("words", turn)), tool_calls=requests)

    def _answer(self, request: ModelRequest) -> str:
        rng = self._rng("answer", self._draw)
        candidate = self.belief(request).sample(rng)
        careless = rng.random() < self._model.carelessness
        said = candidate.texts[0] if self._in_words else candidate.answer
        return final_reply(said, self._seen(request), rng, careless=careless)

    def _rng(self, *purpose: object) -> random.Random:
        return random.Random(f"{self._key} {purpose}")  # noqa: S311 - a simulation, not a secret
