"""The requests of a probe, in their order, and what follows from the replies.

A refusal counts only against what a request adds to one that was taken before. What was taken is not yet what is kept:
a limit has to cut a reply, `required` has to bring a call, log probabilities have to come.
"""

import asyncio
from collections.abc import Callable, Sequence

from toolablate.agents.probing.asking import Asker, Refused, Taken, saying
from toolablate.agents.probing.conclusions import (
    conclude,
    first_answer,
    first_refused,
    limit_kept,
    logprobs_given,
    reasoning_names,
    usage_reported,
)
from toolablate.agents.probing.findings import Observation, Probed, State
from toolablate.agents.probing.tool_use import probe_tools
from toolablate.traces.records import Capabilities, OpenAIModel, Sampling

# Responses takes no smaller limit than this.
CUT_AT = 16
ROOM = 1_000
_SHORT = "Reply with the single word: ready"
_LONG = "Count from 1 to 100, one number per line, and write nothing else."


class _Seen(list[Observation]):
    """What was found out so far; each is told at once."""

    def __init__(self, tell: Callable[[Observation], None]) -> None:
        super().__init__()
        self._tell = tell

    def add(self, *observations: Observation) -> None:
        for each in observations:
            self.append(each)
            self._tell(each)


async def probe(
    model: OpenAIModel, *, attempts: int = 2, tell: Callable[[Observation], None] = lambda _: None
) -> Probed:
    """Asks the endpoint of a model at most MOST_REQUESTS times, repeats included; a request that finds it busy or
    broken is made up to `attempts` times. `tell` hears of each thing when it is found out. Where the task is cancelled,
    what was found out until then is returned. Raises InputError where it cannot be asked at all: no key, no address."""
    asker, seen, stopped = Asker(attempts=attempts), _Seen(tell), False
    try:
        await _ask_all(model, asker, seen)
    except asyncio.CancelledError:
        stopped = True
    if any(one.subject == model.api and one.state == "yes" for one in seen):
        seen.add(reasoning_names(model.api, asker.replies), usage_reported(asker.replies))
    return _probed(model, asker, seen, stopped=stopped)


async def _ask_all(model: OpenAIModel, asker: Asker, seen: _Seen) -> None:
    base = await _first(model, asker, seen)
    if base is None:
        return
    seen.add(await _other_api(base, asker))
    base = await _limits(base, asker, seen)
    if model.api == "chat":
        tried = await asker.ask(_sampled(base, seed=7), saying(_SHORT))
        seen.add(conclude("seed", tried, "taken; one reply cannot show whether it is kept"))
    else:
        seen.add(Observation("seed", "no", "Responses has no such parameter"))
    seen.add(logprobs_given(await asker.ask(_sampled(base, logprobs=True), saying(_SHORT))))
    async for each in probe_tools(base, asker):
        seen.add(each)


async def _first(model: OpenAIModel, asker: Asker, seen: _Seen) -> OpenAIModel | None:
    """The model as the further requests ask it; None where there is no asking."""
    # Without what the further requests are about.
    sampling = model.sampling.model_copy(
        update={"max_tokens": None, "seed": None, "logprobs": False, "top_logprobs": None}
    )
    base = model.model_copy(
        update={"sampling": sampling, "capabilities": Capabilities(encrypted_reasoning=False), "price": None}
    )
    tried = await asker.ask(base, saying(_SHORT))
    if isinstance(tried, Refused) and sampling != Sampling():
        bare = base.model_copy(update={"sampling": Sampling()})
        again = await asker.ask(bare, saying(_SHORT))
        if isinstance(again, Taken):
            seen.add(*first_answer(model, again), Observation("sampling", "no", tried.said))
            return bare
        tried = again
    if isinstance(tried, Refused):
        seen.add(*first_refused(model, tried, await _other_api(base, asker)))
        return None
    seen.add(*first_answer(model, tried))
    if not isinstance(tried, Taken):
        return None
    if sampling != Sampling():
        seen.add(Observation("sampling", "yes", "the plan's parameters were taken"))
    return base


async def _other_api(base: OpenAIModel, asker: Asker) -> Observation:
    other = "responses" if base.api == "chat" else "chat"
    tried = await asker.ask(base.model_copy(update={"api": other, "sampling": Sampling()}), saying(_SHORT))
    return conclude(other, tried, "a request was taken")


async def _limits(base: OpenAIModel, asker: Asker, seen: _Seen) -> OpenAIModel:
    """Finds the name of a reply's limit; the model with a limit under it, so that the rest costs little."""
    if base.api == "responses":
        tried = await asker.ask(_sampled(base, max_tokens=CUT_AT), saying(_LONG))
        seen.add(limit_kept("max_output_tokens", tried, CUT_AT))
        return _sampled(base, max_tokens=ROOM) if seen[-1].state != "no" else base
    kept = []
    for key in ("max_tokens", "max_completion_tokens"):
        asked = base.model_copy(update={"capabilities": base.capabilities.model_copy(update={"max_tokens_key": key})})
        seen.add(limit_kept(key, await asker.ask(_sampled(asked, max_tokens=CUT_AT), saying(_LONG)), CUT_AT))
        if seen[-1].state == "yes":
            kept.append(asked)
    return _sampled(kept[0], max_tokens=ROOM) if kept else base


def _sampled(model: OpenAIModel, **changes: object) -> OpenAIModel:
    return model.model_copy(update={"sampling": model.sampling.model_copy(update=changes)})


def _probed(model: OpenAIModel, asker: Asker, seen: Sequence[Observation], *, stopped: bool) -> Probed:
    states = {one.subject: one.state for one in seen}
    return Probed(
        model=model.name,
        endpoint=model.endpoint,
        api=model.api,
        requests=asker.requests,
        usage=asker.usage,
        observations=tuple(seen),
        capabilities=_capabilities(model, states),
        stopped=stopped,
    )


def _capabilities(model: OpenAIModel, states: dict[str, State]) -> Capabilities:
    def known(subject: str) -> bool | None:
        return {"yes": True, "no": False}.get(states.get(subject, "unknown"))

    # Where both names are kept, the one that is sent anyway.
    usual = ("max_completion_tokens", "max_tokens") if model.is_openai else ("max_tokens", "max_completion_tokens")
    return Capabilities(
        max_tokens_key=next((key for key in usual if states.get(key) == "yes"), None),
        tools=known("tools"),
        tool_choice_required=known("tool_choice_required"),
        parallel_tool_calls=known("parallel_tool_calls"),
        seed=known("seed") if model.api == "chat" else None,
        logprobs=known("logprobs"),
        encrypted_reasoning=known("encrypted_reasoning"),
    )
