"""Replays on a worker of a cluster, which has no store: what a replay needs of it comes with the replay."""

import pickle
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path

from pydantic import Field

from toolablate.agents import AgentResult, Line, ModelSource, RetryPolicy
from toolablate.experiments.cluster.lent import Lent
from toolablate.experiments.cluster.messages import Shared
from toolablate.experiments.cluster.opening import (
    QuestionsRead,
    refuse_other_environment,
    refuse_other_questions,
    refuse_other_versions,
    work_in,
)
from toolablate.experiments.environment.environment import fingerprint_of, recorded_environment, recorded_versions
from toolablate.experiments.environment.replies import open_sources
from toolablate.experiments.environment.web import silent
from toolablate.experiments.plans.plan import Plan, PlannedTrial
from toolablate.experiments.replay.requests import ForkedTrial
from toolablate.experiments.replay.running import ReplayEnvironment, ReplayExecutor, open_replay_environment
from toolablate.experiments.running.execution import RecordEvent, retry_policy
from toolablate.tools.placebo_sources import PlaceboSource, PlaceboSources
from toolablate.traces.errors import InternalError
from toolablate.traces.records import Condition, Environment, Question, QuestionFile, canonical_json, digest_text

# What is sent.


@dataclass(frozen=True, slots=True)
class SentReplay(PlannedTrial):
    """A replay with what the store has of the trial that it goes on from: 54 kB for 50 events, as much as these took
    when a worker sent them. `place` is that of its plan among those that workers have opened; `placebos` is the digest
    of the sources of its placebos, "" where there are none; `codes` tells whether it may start a kernel."""

    place: int
    forked: ForkedTrial
    placebos: str
    codes: bool


@dataclass(frozen=True, slots=True)
class EndedReplay(AgentResult):
    """`missed` are the tools of calls that nobody could answer."""

    missed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SentPlacebos:
    """Of `PlaceboSources`, what the driver has read: a worker looks for the rest in what it has opened itself."""

    questions: tuple[Question, ...]
    kept: Mapping[str, Sequence[PlaceboSource]]
    asked: tuple[Question, ...]
    own_results: tuple[str, ...]

    def digest(self) -> str:
        questions, asked = ([each.model_dump(mode="json") for each in some] for some in (self.questions, self.asked))
        kept = {tool: [astuple(each) for each in results] for tool, results in self.kept.items()}
        return digest_text(canonical_json([questions, kept, asked, list(self.own_results)]))


def placebos_to_send(there: ReplayEnvironment) -> Shared | None:
    """Once to each worker: results of a whole store may be 20 MB. What is the same has one digest, which the digest of
    a pickle would not be."""
    sources = there.placebo_sources
    if sources is None:
        return None
    sent = SentPlacebos(
        tuple(sources.questions), dict(sources.kept), tuple(sources.asked), tuple(sorted(there.own_results))
    )
    return Shared(sent.digest(), pickle.dumps(sent, pickle.HIGHEST_PROTOCOL))


def replays_fingerprint(plan: Plan, conditions: Sequence[Condition]) -> dict[str, str]:
    """What replays under these conditions depend on of what a worker opens: all but the placebos, whose sources are
    sent."""
    return fingerprint_of(plan, _without_placebos(conditions))


def _without_placebos(conditions: Sequence[Condition]) -> list[Condition]:
    return [
        each.model_copy(update={"interventions": tuple(use for use in each.interventions if use.name != "placebo")})
        for each in conditions
    ]


class WorkersEnvironment(Environment):
    """That of the first plan, and of the `others` by their places, so that a worker that differs in one is told."""

    others: dict[int, Environment] = Field(default_factory=dict)

    def of(self, place: int) -> Environment:
        return self.others.get(place, self)


# What opens and runs it there.


@dataclass(frozen=True, slots=True)
class PlanOfReplays:
    """`plan` has those of its models alone that are asked; `file` is where it lies, the same on each node; `lent` is
    what the driver has for all workers; `files` are those of questions that kernels have, as far as they are known."""

    plan: Plan
    conditions: tuple[Condition, ...]
    fingerprint: Mapping[str, str]
    file: Path | None
    lent: Lent
    files: tuple[QuestionFile, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplayOpener:
    """An `Opener` of what replays of trials of these plans stand on, by their places. Lines are named by place and
    name, as `line_of` does it. `versions` are those of the driver, which works in `folder`."""

    plans: Mapping[int, PlanOfReplays]
    live: bool
    versions: Mapping[str, str] = field(default_factory=recorded_versions)
    folder: Path = field(default_factory=Path.cwd)

    async def open(self, stack: AsyncExitStack, lines: Mapping[str, Line]) -> "WorkerReplays":
        """Raises InputError where the world is another here, ToolablateError for what cannot be opened."""
        work_in(self.folder)
        refuse_other_versions(self.versions)
        opened: dict[int, _OpenedThere] = {}
        environments: dict[int, Environment] = {}
        for place, each in self.plans.items():
            refuse_other_environment(each.plan, _without_placebos(each.conditions), each.fingerprint, each.file)
            await refuse_other_questions(each.plan, QuestionsRead(each.files))
            own = {name: lines[line_of(place, name)] for name in _names(place, lines)}
            web = await each.lent.web(each.plan)
            there = await open_replay_environment(each.plan, each.conditions, stack, live=self.live, lent=web)
            asked = await open_sources(each.lent.unrecorded(each.plan), each.fingerprint, stack, own, silent)
            sources = each.lent.recording(asked, each.plan.models)
            opened[place] = _OpenedThere(there, sources, retry_policy(each.plan))
            environments[place] = recorded_environment(there.tried, each.fingerprint)
        first = environments.pop(min(environments))
        return WorkerReplays(opened, WorkersEnvironment(**first.model_dump(), others=environments))


def line_of(place: int, name: str) -> str:
    return f"{place} {name}"


def _names(place: int, lines: Mapping[str, Line]) -> list[str]:
    start = line_of(place, "")
    return [name.removeprefix(start) for name in lines if name.startswith(start)]


@dataclass(frozen=True, slots=True)
class _OpenedThere:
    there: ReplayEnvironment
    sources: Mapping[str, ModelSource]
    retry: RetryPolicy


class WorkerReplays:
    """An `Executor` of replays that are sent."""

    def __init__(self, opened: Mapping[int, _OpenedThere], environment: WorkersEnvironment) -> None:
        self.environment = environment
        self._opened = opened
        self._placebos: dict[str, SentPlacebos] = {}
        self._with_placebos: dict[tuple[int, str], ReplayEnvironment] = {}

    def share(self, shared: Shared) -> None:
        sent: SentPlacebos = pickle.loads(shared.packed)  # noqa: S301 - of the driver, which runs our own code
        self._placebos[shared.digest] = sent

    def forget(self, digests: frozenset[str]) -> None:
        for digest in digests:
            self._placebos.pop(digest, None)
        for place, digest in list(self._with_placebos):
            if digest in digests:
                del self._with_placebos[place, digest]

    async def run(self, planned: PlannedTrial, record: RecordEvent) -> EndedReplay:
        if not isinstance(planned, SentReplay):
            raise InternalError("this executor runs replays alone")
        opened = self._opened[planned.place]
        executor = ReplayExecutor(
            {planned.trial.condition: planned.forked},
            self._there(planned.place, planned.placebos),
            opened.sources,
            self.environment.of(planned.place),
            opened.retry,
        )
        ended = await executor.run(planned, record)
        return EndedReplay(ended.outcome, ended.usage, ended.cost_usd, ended.seconds, tuple(executor.missed))

    def _there(self, place: int, digest: str) -> ReplayEnvironment:
        there = self._opened[place].there
        if not digest:
            return there
        if (place, digest) not in self._with_placebos:
            sent, resources = self._placebos[digest], there.resources
            if resources.documents is not None:
                resources.documents.add(sent.questions)
            sources = PlaceboSources(
                sent.questions, sent.kept, resources.search, resources.pages, sent.asked, resources.documents
            )
            own = frozenset(sent.own_results)
            self._with_placebos[place, digest] = replace(there, placebo_sources=sources, own_results=own)
        return self._with_placebos[place, digest]
