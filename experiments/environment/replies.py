"""The models and judges of a plan, connected: live, recorded or replayed; and what judges are paid for."""

import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from toolablate.agents import ChatModel, EndpointLine, Line, ModelSource, PacedSource, connect
from toolablate.agents.chat import NoReplyError
from toolablate.agents.pacing import named_lines
from toolablate.agents.spending import known_cost
from toolablate.experiments.plans.lines import located
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.plans.sections import RepliesSection
from toolablate.tools.user_code import said_of
from toolablate.traces.errors import InputError
from toolablate.traces.plugins import close
from toolablate.traces.records import (
    REPLIES,
    Condition,
    Model,
    ModelReply,
    ModelRequest,
    OpenAIModel,
    Price,
    Question,
    ServedModel,
)

if TYPE_CHECKING:
    from toolablate.agents.batches import Batches


@dataclass(slots=True)
class JudgeCosts:
    """What the replies to one judge's requests cost in US dollars, those of its re-gradings among them. `empty` counts
    the requests whose reply was none."""

    requests: int = 0
    empty: int = 0
    known_usd: float = 0.0
    unpriced: int = 0

    def begin(self) -> None:
        """Counts anew."""
        self.requests, self.empty, self.known_usd, self.unpriced = 0, 0, 0.0, 0

    def add(self, cost_usd: float | None) -> None:
        """None where it is unknown."""
        self.requests += 1
        self.known_usd += cost_usd or 0.0
        self.unpriced += cost_usd is None


@dataclass(frozen=True, slots=True)
class PaidSource:
    """A judge's model whose every reply is booked: those that are none, and those of gradings that fail later, are paid
    for too."""

    source: ModelSource
    costs: JudgeCosts
    price: Price | None

    @classmethod
    def of(cls, model: Model, source: ModelSource, costs: JudgeCosts) -> "PaidSource":
        return cls(source, costs, model.price if isinstance(model, ServedModel) else None)

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        return _PaidChat(self.source.session(question, condition, repeat), self.costs, self.price)

    async def close(self) -> None:
        await self.source.close()


@dataclass(frozen=True, slots=True)
class _PaidChat:
    chat: ChatModel
    costs: JudgeCosts
    price: Price | None

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        try:
            reply = await self.chat.complete(request, seconds=seconds)
        except NoReplyError as error:
            self.costs.add(known_cost(error.reply, self.price))
            self.costs.empty += 1
            raise
        self.costs.add(known_cost(reply, self.price))
        return reply


class Asking(Protocol):
    """What of a plan says which models and judges are asked, and whether replies are recorded."""

    @property
    def models(self) -> Sequence[Model]: ...
    @property
    def judges(self) -> Sequence[Model]: ...
    @property
    def replies(self) -> RepliesSection: ...


Section = Literal["models", "judges"]
"""Of a plan."""


def replies_fingerprint(plan: Plan) -> dict[str, str]:
    """How replies are come by, as a part of the environment's fingerprint; for replays, with the root digest of what
    was recorded. Judges are no part of it: they look at answers that are there already, and each score says by which
    judge it is.

    Raises InputError where there is nothing to replay; StoreError where it is damaged.
    """
    if not any(isinstance(model, ServedModel) for model in plan.models):
        return {}
    match plan.replies.mode:
        case "live":
            return {REPLIES: "live"}
        case "record":
            return {REPLIES: f"record {Path(plan.replies.file).name}"}
        case "replay":
            from toolablate.agents.replies import read_root

            return {REPLIES: _replay(read_root(plan.replies.file))}


def is_replayed(plan: Asking, model: Model) -> bool:
    """Whether a model or judge of the plan is never asked, so that it needs neither its endpoint nor its key."""
    return isinstance(model, ServedModel) and plan.replies.mode == "replay"


def asked_lines(plan: Asking) -> dict[str, EndpointLine]:
    """The lines in which requests to the plan's endpoints wait, by `_line_key`: models and judges with one address and
    one key share a pace."""
    sections: tuple[tuple[Section, Sequence[Model]], ...] = (("models", plan.models), ("judges", plan.judges))
    return named_lines(
        (_line_key(section, model), model)
        for section, models in sections
        for model in models
        if not is_replayed(plan, model)
    )


async def open_sources(
    plan: Asking,
    fingerprint: Mapping[str, str],
    stack: AsyncExitStack,
    lines: Mapping[str, Line],
    warn: Callable[[str], None],
    batches: "Batches | None" = None,
) -> dict[str, ModelSource]:
    """The plan's models by name; the stack closes them, and `warn` hears of those that cannot be closed. `lines` are
    those that `asked_lines` gives; `batches` are for the models that are to be asked so. In replay no client is made
    and no key is read.

    Raises InputError where one cannot be had, or where what is replayed is no more what `fingerprint` says.
    """
    live = await _live(plan, "models", plan.models, stack, lines, warn, batches)
    return await _open(plan, plan.models, live, stack, fingerprint)


async def open_judges(
    plan: Asking,
    stack: AsyncExitStack,
    lines: Mapping[str, Line],
    costs: Mapping[str, JudgeCosts],
    warn: Callable[[str], None],
    others: Sequence[tuple[ServedModel, Callable[[], ModelSource]]] = (),
) -> dict[str, ModelSource]:
    """The models of the plan's judges by name, as `open_sources` does it; recorded into the file of the models' replies
    and replayed from there. What their endpoints reply is booked in `costs`, by name. `others` are asked as judges are,
    and are no chat models: each with what opens it. Raises InputError where one cannot be had."""
    live = await _live(plan, "judges", plan.judges, stack, lines, warn)
    paid: dict[str, ModelSource] = {
        model.name: PaidSource.of(model, live[model.name], costs[model.name])
        for model in plan.judges
        if model.name in live
    }
    for model, opened in others:
        if not is_replayed(plan, model):
            paid[model.name] = source = opened()
            stack.push_async_callback(source.close)
    return await _open(plan, (*plan.judges, *(model for model, _ in others)), paid, stack, {})


async def _live(
    plan: Asking,
    section: Section,
    models: Sequence[Model],
    stack: AsyncExitStack,
    lines: Mapping[str, Line],
    warn: Callable[[str], None],
    batches: "Batches | None" = None,
) -> dict[str, ModelSource]:
    """Those that are asked."""
    return {
        model.name: await stack.enter_async_context(
            _connected(plan, section, model, lines.get(_line_key(section, model)), warn, batches)
        )
        for model in models
        if not is_replayed(plan, model)
    }


async def _open(
    plan: Asking,
    models: Sequence[Model],
    live: Mapping[str, ModelSource],
    stack: AsyncExitStack,
    fingerprint: Mapping[str, str],
) -> dict[str, ModelSource]:
    """The sources that are asked, and those that the cache of replies stands before. A replay has to be that of
    `fingerprint`, where that names one."""
    sources, replayed = dict(live), fingerprint.get(REPLIES, "")
    endpoints = [model for model in models if isinstance(model, ServedModel)]
    if plan.replies.mode == "live" or not endpoints:
        return sources
    from toolablate.agents.replies import RecordedSource, ReplayedSource, ResponseCache

    recording = plan.replies.mode == "record"
    cache = await stack.enter_async_context(ResponseCache(plan.replies.file, write=recording))
    if not recording and replayed and replayed != _replay(cache.root()):
        raise InputError(
            f"replies.file: {plan.replies.file} is being recorded by another run",
            hint="Wait until that run is done, and run again.",
            code="replies_changed",
        )
    for model in endpoints:
        sources[model.name] = (
            RecordedSource(sources[model.name], model, cache) if recording else ReplayedSource(model, cache)
        )
    return sources


def _line_key(section: Section, model: Model) -> str:
    """A judge may have the name of a model."""
    return f"{section}.{model.name}"


def _replay(root: str) -> str:
    return f"replay {root}"


@asynccontextmanager
async def _connected(
    plan: Asking,
    section: Section,
    model: Model,
    line: Line | None,
    warn: Callable[[str], None],
    batches: "Batches | None" = None,
) -> AsyncIterator[ModelSource]:
    """A model behind an endpoint waits in line; what a cache holds is given without."""
    source = connected = connect_of(plan, section, model)
    if line is not None and isinstance(model, ServedModel):
        source = PacedSource(source, line, model.max_tokens)
    if batches is not None and isinstance(model, OpenAIModel) and model.batch is not None:
        source = batches.source(model, source, connected)
    try:
        yield source
    finally:
        await close_source(model, source, warn)


def connect_of(plan: Asking, section: Section, model: Model) -> ModelSource:
    """The plan's model, connected. Raises InputError with the line of the plan, where that is known."""
    try:
        return connect(model)
    except InputError as error:
        names = [each.name for each in getattr(plan, section)]
        number = names.index(model.name) if model.name in names else sys.maxsize
        raise located(error, getattr(plan, "file", None), section, number) from None


async def close_source(model: Model, source: ModelSource, warn: Callable[[str], None]) -> None:
    """`warn` hears of it where it cannot be closed."""
    await close(lambda: said_of(model.provider, "providers"), source.close, warn)
