"""`clear agreement --plan`: a judge compares what two mappers extracted from the same answers."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from toolablate.agents import ModelSource, RetryPolicy
from toolablate.analysis.checklist_agreement import Contains, scorer_pairs
from toolablate.analysis.checklists import Sample
from toolablate.benchmarks.clear.agreement import StoredAgreement, mapping_of
from toolablate.benchmarks.judging.checklists import NoReadReply, ask_until_read, containment_request, words_for
from toolablate.benchmarks.judging.containment import read_reply
from toolablate.experiments.mapped_references import (
    CallFile,
    NotPaid,
    PaidOnce,
    is_paid,
    refuse_to_pay,
)
from toolablate.experiments.pair_judging import REPLY_TOKENS, Made, PairWork, have_asked
from toolablate.experiments.plans.judges_plan import JudgesPlan
from toolablate.experiments.running.grading import JudgeCalls
from toolablate.experiments.running.progress import RunProgress
from toolablate.reports.numbers import counted
from toolablate.traces.records import ChecklistItem, ChecklistTarget, Condition, ItemScore, ModelRequest, Question

_COMPARING = Condition(name="clear agreement")


@dataclass(frozen=True, slots=True)
class _Texts:
    question: Question
    item: ChecklistItem
    one: str
    other: str

    def requests(self) -> tuple[ModelRequest, ModelRequest]:
        """Whether the one contains the other, and the other the one."""
        words = words_for(self.question.language)
        return (
            containment_request(self.item, self.one, self.other, words),
            containment_request(self.item, self.other, self.one, words),
        )

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(request.identity() for request in self.requests())

    async def compared(self, paid: PaidOnce, asks: int) -> tuple[bool, bool]:
        """Raises NoReadReply, and what the ask raises."""
        again = words_for(self.question.language).again_judge
        said = f"item {self.item.name!r}: the judge"
        first, second = self.requests()
        one = await ask_until_read(paid, asks, first, read_reply, again, said)
        return one, await ask_until_read(paid, asks, second, read_reply, again, said)


@dataclass(frozen=True, slots=True)
class ComparedMappers:
    """`contains` knows what was compared. `missing` counts pairs of texts that could not be asked about, `unread` those
    without a verdict."""

    contains: Contains
    work: PairWork
    missing: int
    unread: int


def compare_mappers(
    found: StoredAgreement,
    plan: JudgesPlan,
    calls: Path,
    *,
    judge: str = "",
    max_cost: float | None = None,
    progress: RunProgress | None = None,
) -> ComparedMappers:
    """Asks the plan's first judge, or the one named, for what the file of calls does not hold yet. Raises
    ToolablateError; what can be refused is refused before anything is spent."""
    progress = progress or RunProgress()
    model = plan.judge(judge or plan.judges[0].name, "--judge")
    wanted = _differing(found)
    said, unread = dict[tuple[str, ...], tuple[bool, bool]](), 0
    with CallFile(calls) as kept:
        held = kept.paying(model, refuse_to_pay)
        lacking = [each for each in wanted.values() if not is_paid(each.compared(held, plan.judging.asks))]
        requests = ((request, REPLY_TOKENS) for each in lacking for request in each.requests())

        def maker(sources: Mapping[str, ModelSource], retry: RetryPolicy) -> Callable[[_Texts], Made]:
            async def make(each: _Texts) -> tuple[str | None, bool]:
                source = sources[model.name].session(each.question, _COMPARING, 0)
                asking = JudgeCalls(source, model, retry, seed=" ".join(each.key))
                try:
                    await each.compared(kept.paying(model, asking.ask), plan.judging.asks)
                except NoReadReply as error:
                    return str(error), True
                return None, True

            return make

        told = f"{counted(len(lacking), 'pair')} of texts to be compared"
        work = have_asked(plan, model, lacking, requests, maker, progress, "compare", told, max_cost)
        missing = 0
        for key, each in wanted.items():
            try:
                said[key] = asyncio.run(each.compared(held, plan.judging.asks))
            except NotPaid:
                missing += 1
            except NoReadReply:
                unread += 1

    def contains(sample: Sample, one: ItemScore, other: ItemScore) -> tuple[bool, bool] | None:
        texts = _texts(found, sample, one, other)
        answers = None if texts is None else said.get(texts.key)
        return answers if answers is None or texts is None or texts.one == one.mapped else (answers[1], answers[0])

    return ComparedMappers(contains, work, missing, unread)


def _differing(found: StoredAgreement) -> dict[tuple[str, ...], _Texts]:
    """The pairs of texts that a judge has to compare, each once."""
    wanted: dict[tuple[str, ...], _Texts] = {}

    def note(sample: Sample, one: ItemScore, other: ItemScore) -> None:
        texts = _texts(found, sample, one, other)
        if texts is not None:
            wanted[texts.key] = texts

    scorer_pairs(found.samples, mapping_of, "published", contains=note, resamples=0)
    return wanted


def _texts(found: StoredAgreement, sample: Sample, one: ItemScore, other: ItemScore) -> _Texts | None:
    question = found.questions[sample.name]
    target = question.target
    items = target.items if isinstance(target, ChecklistTarget) else ()
    item = next((each for each in items if each.name == one.item), None)
    # In one order, so that two texts are one thing to be compared, whichever scorer stands first.
    return None if item is None else _Texts(question, item, *sorted((one.mapped, other.mapped)))
