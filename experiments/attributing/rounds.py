"""Runs of replays, each told what is left to spend, and what came of all of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolablate.experiments.attributing.program import Asked, PurposeKind
from toolablate.experiments.counterfactual import Batch, Estimate, Wanted, estimate_many, replay_many
from toolablate.experiments.counterfactual.wanted import RefusedError
from toolablate.experiments.running.watcher import Watcher
from toolablate.reports.numbers import counted
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store

_TOO_DEAR = ("too_dear", "unknown_cost")
_OF_THE_PLAN = ("no_plan", "other_model")
"""Refusals that `--plan` mends, and that are told at once."""

Job = tuple[str, Asked]
"""What is asked of the trial of this id."""


@dataclass(frozen=True, slots=True)
class Refused:
    """So many `replays` for this `purpose` that cannot be made: `reason` is the code of the error, `message` what it
    says of the first of them, and of what can be done."""

    purpose: PurposeKind
    reason: str
    message: str
    replays: int


@dataclass(slots=True)
class Rounds:
    """The rounds of one attribution. `estimated` is what those so far were thought to cost, in US dollars, None where
    that is not known; `spent` is what they cost as far as that is known, `charged` what counts against `max_cost`."""

    store: Path
    plan: Path | None
    max_cost: float | None
    live: bool
    watcher: Watcher
    estimated: float | None = 0.0
    spent: float = 0.0
    charged: float = 0.0
    stopped: bool = False
    _trials: set[str] = field(default_factory=set)
    _refused: dict[Job, InputError] = field(default_factory=dict)

    def estimate(self, jobs: Sequence[Job], *, anew: bool = False) -> Estimate:
        """Of those that can be made, each by its place among `jobs`; of those that are missing, or of all as if they
        were made `anew`. Raises InputError where none can for want of the plan."""
        left = dict(enumerate(jobs))
        while True:
            try:
                found = estimate_many(self.store, _wanted(list(left.values())), plan=self.plan, anew=anew)
            except RefusedError as error:
                refused = _refusals(list(left.values()), error)
                left = {place: job for place, job in left.items() if job not in refused}
            else:
                return replace(found, by_place={place: found.by_place[nth] for nth, place in enumerate(left)})

    def run(self, jobs: Sequence[Job]) -> None:
        """Those that can be made. What does not fit into what is left to spend is left out as a whole. Raises
        ToolablateError."""
        batch = self._run(jobs)
        if batch is None:
            return
        thought = batch.estimated_usd
        self.estimated = None if self.estimated is None or thought is None else self.estimated + thought
        self.spent += batch.spent_usd
        # An endpoint that does not report what it took would seem to cost nothing.
        self.charged += max(batch.spent_usd, thought or 0.0)
        self.stopped = self.stopped or batch.launched.stopped
        self._trials.update(*(each.trials for each in batch.replayed))

    @property
    def refused(self) -> tuple[Refused, ...]:
        """By what they are for and why, in the order in which they were refused."""
        replays: Counter[tuple[PurposeKind, str]] = Counter()
        said: dict[tuple[PurposeKind, str], str] = {}
        for (_, asked), error in self._refused.items():
            key = asked.purpose.kind, error.code
            replays[key] += asked.repeats
            said.setdefault(key, "; ".join(filter(None, (error.message, error.hint))))
        return tuple(Refused(*key, said[key], number) for key, number in replays.items())

    def counts(self) -> tuple[int, int]:
        """The replays that were asked for and could be made, and how many of these have not ended."""
        with Store(self.store) as opened:
            return len(self._trials), len(self._trials - opened.finished_resumptions())

    def _run(self, jobs: Sequence[Job]) -> Batch | None:
        while (left := self._left(jobs)) and not self.stopped:
            wanted = _wanted(left)
            try:
                return replay_many(
                    self.store,
                    wanted,
                    plan=self.plan,
                    max_cost=self._to_spend(),
                    live=self.live,
                    watcher=self.watcher,
                )
            except RefusedError as error:
                self._refused |= _refusals(left, error)
            except InputError as error:
                if error.code not in _TOO_DEAR:
                    raise
                self.watcher.warn(f"{counted(_replays(left), 'replay')} left out: {error.message}")
                self._refused |= dict.fromkeys(left, error)
        return None

    def _to_spend(self) -> float | None:
        return None if self.max_cost is None else max(0.0, self.max_cost - self.charged)

    def _left(self, jobs: Sequence[Job]) -> list[Job]:
        return [job for job in dict.fromkeys(jobs) if job not in self._refused]


def _refusals(jobs: Sequence[Job], error: RefusedError) -> dict[Job, InputError]:
    """Raises InputError for what naming the plan would mend."""
    for each in error.refusals:
        if each.error.code in _OF_THE_PLAN:
            raise each.error
    return {jobs[each.place]: each.error for each in error.refusals}


def _replays(jobs: Sequence[Job]) -> int:
    return sum(asked.repeats for _, asked in jobs)


def _wanted(jobs: Sequence[Job]) -> list[Wanted]:
    return [Wanted(trial, asked.event, asked.change, asked.repeats) for trial, asked in jobs]
