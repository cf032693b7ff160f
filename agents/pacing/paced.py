"""A model whose requests wait for their turn, and how endpoints hold them back, to be shown."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

from toolablate.agents.chat import BUSY_CODES, ChatModel, ModelSource, NoReplyError
from toolablate.agents.pacing.line import EndpointLine, EndpointPace, Line
from toolablate.agents.pacing.waits import telling_when_sent
from toolablate.agents.spending import estimated_tokens
from toolablate.traces.errors import ModelError
from toolablate.traces.records import Condition, Model, ModelReply, ModelRequest, Question, ServedModel

# Nothing came from the endpoint that would show that it is alive.
_SILENT_CODES = frozenset({"disconnected", "timeout"})


def lines_of(models: Iterable[Model]) -> dict[str, EndpointLine]:
    """As `named_lines`, by the models' names."""
    return named_lines((model.name, model) for model in models)


def named_lines(models: Iterable[tuple[str, Model]]) -> dict[str, EndpointLine]:
    """A line for each model behind an endpoint, by the name that it is given with. Models with one address and one key
    share a pace, whose rates are the lowest that one of them names."""
    sharing: dict[tuple[str, str], list[tuple[str, ServedModel]]] = defaultdict(list)
    for name, model in models:
        if isinstance(model, ServedModel):
            sharing[model.endpoint.rstrip("/"), model.key_variable].append((name, model))
    lines: dict[str, EndpointLine] = {}
    for (address, _), group in sharing.items():
        pace = EndpointPace(
            address,
            requests_per_minute=min((m.requests_per_minute for _, m in group if m.requests_per_minute), default=None),
            tokens_per_minute=min((m.tokens_per_minute for _, m in group if m.tokens_per_minute), default=None),
        )
        lines |= {name: _line(pace, model) for name, model in group}
    return lines


def _line(pace: EndpointPace, model: ServedModel) -> EndpointLine:
    """What a user writes of an endpoint is trusted; the default is anybody's."""
    return pace.line(model.concurrency, model.wire_name, declared="concurrency" in model.model_fields_set)


class PacedSource:
    """A source whose sessions wait for a place in the model's line before each request; `max_tokens` is the most that a
    reply can have. The wait is told by `note_wait` and is no part of the seconds that a request is given."""

    def __init__(self, source: ModelSource, line: Line, max_tokens: int | None = None) -> None:
        self._source = source
        self._line = line
        self._max_tokens = max_tokens

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        return _PacedChat(self._source.session(question, condition, repeat), self._line, self._max_tokens)

    async def close(self) -> None:
        await self._source.close()


class _PacedChat:
    def __init__(self, model: ChatModel, line: Line, max_tokens: int | None) -> None:
        self._model = model
        self._line = line
        self._max_tokens = max_tokens

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        """As the model's own; and ModelError `endpoint_busy` where the endpoint was given up, LetGo where a run that
        is being stopped does not wait for a first reply."""
        line = self._line
        tokens = estimated_tokens(request) if line.counts_tokens else 0.0
        first = not any(message.role == "assistant" for message in request.messages)
        place = await line.enter(tokens, self._max_tokens, first=first)
        listening = telling_when_sent(partial(line.sent, place)) if place.listens else nullcontext()
        try:
            with listening:
                reply = await self._model.complete(request, seconds=seconds)
        except NoReplyError as error:
            line.replied(place, error.reply.usage)
            raise
        except ModelError as error:
            if error.code in BUSY_CODES:
                line.refused(place, error)
            elif error.code == "unreachable":
                raise line.unreached(place, error) from None
            elif error.code in _SILENT_CODES:
                line.leave(place)
            else:
                line.replied(place)
            raise
        except BaseException:
            line.leave(place)
            raise
        line.replied(place, reply.usage)
        return reply


# How endpoints hold back the requests to them, to be shown.


LATELY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Pressure:
    """What the refusals of one model of an endpoint have come to so far.

    `name` is the model's and the address; `refused` counts refusals by code; `rested` is for how many seconds the model
    was left alone in all and `rests` for how many more it will be, because the endpoint `asked` for so many (None: it
    named no wait). `places` is how many requests may be in flight now; `lately` tells that it refused one within the
    last minute.
    """

    name: str
    refused: Mapping[str, int]
    rested: float
    rests: float
    asked: float | None
    places: int
    lately: bool


def pressures(lines: Iterable[EndpointLine]) -> tuple[Pressure, ...]:
    """Of the models that were refused a request, each once. Inside the event loop of the lines."""
    now = asyncio.get_running_loop().time()
    return tuple(_pressure(line, now) for line in dict.fromkeys(lines) if line.refusals)


def _pressure(line: EndpointLine, now: float) -> Pressure:
    rests = max(line.rests_until - now, 0.0)
    return Pressure(
        name=line.name,
        refused=dict(line.refusals),
        rested=line.rested - rests,
        rests=rests,
        asked=line.asked,
        places=line.window.places,
        lately=now - line.refused_at <= LATELY_SECONDS,
    )
