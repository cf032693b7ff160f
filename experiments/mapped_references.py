"""`clear map`: a judge's model reads references for what they say of each item of a checklist."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from toolablate.agents import ModelSource, RetryPolicy
from toolablate.agents.spending import estimated_tokens
from toolablate.benchmarks.clear.references import RawReference
from toolablate.benchmarks.judging.checklists import NoReadReply, ask_until_read, map_request, map_texts, words_for
from toolablate.experiments.pair_judging import REPLY_TOKENS, Made, PairWork, have_asked
from toolablate.experiments.plans.judges_plan import JudgesPlan
from toolablate.experiments.record_file import RecordFile
from toolablate.experiments.running.grading import JudgeCalls
from toolablate.experiments.running.progress import RunProgress
from toolablate.reports.numbers import counted
from toolablate.traces.records import (
    Condition,
    JudgeCall,
    KeptCall,
    Model,
    ModelRequest,
    Question,
    ReferenceTarget,
)


class CallFile(RecordFile[KeptCall]):
    """Calls to judges' models by model and request, so that each is paid for once."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            KeptCall,
            lambda each: each.asked,
            head=b'{"version":1,"model":"',
            what="call to a judge",
            in_use="name another file: --calls FILE",
        )

    def paying(self, model: Model, ask: Callable[[ModelRequest], Awaitable[JudgeCall]]) -> "PaidOnce":
        return PaidOnce(self, model.identity(), ask)


@dataclass(frozen=True, slots=True)
class PaidOnce:
    """Gives again what the file has; what is new is in the file before it is used."""

    kept: CallFile
    model: str
    ask: Callable[[ModelRequest], Awaitable[JudgeCall]]

    async def __call__(self, request: ModelRequest) -> JudgeCall:
        found = self.kept.found.get((self.model, request.identity()))
        if found is None:
            found = KeptCall(model=self.model, call=await self.ask(request))
            self.kept.append(found)
        return found.call


class NotPaid(Exception):
    """The file does not hold all that is asked."""


async def refuse_to_pay(_: ModelRequest) -> JudgeCall:
    raise NotPaid


@dataclass(frozen=True, slots=True)
class MappedReferences:
    """`texts` has what each reference says of each item, "" for nothing; `unread` why others have none although the
    model was asked; `missing` counts those that could not be asked about."""

    texts: Mapping[str, Mapping[str, str]]
    unread: Mapping[str, str]
    work: PairWork
    missing: int


def map_references(
    plan: JudgesPlan,
    references: Sequence[RawReference],
    calls: Path,
    *,
    mapper: str = "",
    max_cost: float | None = None,
    progress: RunProgress | None = None,
) -> MappedReferences:
    """Asks for what the file of calls does not hold yet, by the plan's mapper or the judge that `mapper` names; each
    reply is in the file before it is used. Raises ToolablateError; what can be refused is refused before anything is
    spent."""
    progress = progress or RunProgress()
    model = plan.judge(mapper or plan.judging.mapper or plan.judges[0].name, "--mapper")
    texts, unread = dict[str, dict[str, str]](), dict[str, str]()
    with CallFile(calls) as kept:
        held = kept.paying(model, refuse_to_pay)
        wanted = [each for each in references if not is_paid(_mapped(plan, each, held))]
        requests = (request for each in wanted for request in _requests(plan, each))

        def maker(sources: Mapping[str, ModelSource], retry: RetryPolicy) -> Callable[[RawReference], Made]:
            return partial(_make, plan, model, kept, sources[model.name], retry)

        told = f"{counted(len(wanted), 'reference')} to be mapped"
        work = have_asked(plan, model, wanted, requests, maker, progress, "map", told, max_cost)
        for each in references:
            try:
                texts[each.id] = asyncio.run(_mapped(plan, each, held))
            except NoReadReply as error:
                unread[each.id] = str(error)
            except NotPaid:
                continue
    return MappedReferences(texts, unread, work, len(references) - len(texts) - len(unread))


_MAPPING = Condition(name="clear map")


async def _make(
    plan: JudgesPlan, model: Model, kept: CallFile, source: ModelSource, retry: RetryPolicy, reference: RawReference
) -> tuple[str | None, bool]:
    question = Question(
        id=reference.id, prompt=reference.text, as_is=True, target=ReferenceTarget(answer=reference.text)
    )
    calls = JudgeCalls(source.session(question, _MAPPING, 0), model, retry, seed=f"{reference.id} map")
    try:
        await _mapped(plan, reference, kept.paying(model, calls.ask))
    except NoReadReply as error:
        return str(error), True
    return None, True


async def _mapped(plan: JudgesPlan, reference: RawReference, paid: PaidOnce) -> dict[str, str]:
    words = words_for(reference.language)
    ask = partial(ask_until_read, paid, plan.judging.asks)
    return await map_texts(reference.text, reference.items, words, plan.judging.mapping, ask)


def is_paid(asked: Coroutine[Any, Any, object]) -> bool:
    """Whether nothing new is asked, of what is asked with `refuse_to_pay`; an unread reply stands until it may be asked
    for more often."""
    try:
        asyncio.run(asked)
    except NotPaid:
        return False
    except NoReadReply:
        pass
    return True


def _requests(plan: JudgesPlan, reference: RawReference) -> Iterator[tuple[ModelRequest, int]]:
    """Those of the first asking, and how many tokens their replies may have: what is said of all items together can be
    as long as the reference."""
    mapping, words = plan.judging.mapping, words_for(reference.language)
    items = [item for item in reference.items if not item.literal]
    groups = [items] if mapping == "once" else [[item] for item in items]
    for group in groups:
        if group:
            request = map_request(reference.text, group, words, mapping)
            yield request, max(REPLY_TOKENS, estimated_tokens(request)) if mapping == "once" else REPLY_TOKENS
