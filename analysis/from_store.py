"""Reads a store for the comparisons: observations, the run, scorer and names that a user means, and ladders."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from toolablate.analysis.arms import Ladder, has_ladder, ladders
from toolablate.analysis.comparison import Comparison, GroupBy, compare
from toolablate.analysis.flips import Flip, Floor, flips, floors
from toolablate.analysis.ladder import Waterfall, waterfalls
from toolablate.analysis.misses import (
    MissDifference,
    MissRate,
    RefusedCalls,
    miss_differences,
    miss_rates,
    refused_calls,
)
from toolablate.traces.errors import InputError
from toolablate.traces.plain import one_line
from toolablate.traces.records import Condition, Environment, Run
from toolablate.traces.store import Store
from toolablate.traces.store.observations import Observation

SHOWN_CHANGES = 6

# What computes. A kernel has a hundred packages more, which seldom matter.
FIRST = frozenset({"python", "numpy", "scipy", "pandas", "sympy", "matplotlib"})


def environments(store: Path) -> tuple[Environment, ...]:
    """What the trials in a store ran on; none where there is no store yet. Raises StoreError where it is none."""
    if not store.exists():
        return ()
    with Store(store) as opened:
        return opened.environments()


def changed_kernels(ran_on: Sequence[Environment]) -> str:
    """A sentence on what differs between kernels, the latest last; "" where nothing does or nothing is known."""
    parts = [
        f"{label}{name} {' / '.join(found)}"
        for label, tables in (
            ("", [seen.kernel_versions for seen in ran_on if seen.kernel_versions]),
            ("variable ", [seen.kernel_environment for seen in ran_on if seen.kernel_environment]),
        )
        for name in sorted({name for table in tables for name in table}, key=lambda name: (name not in FIRST, name))
        if len(found := list(dict.fromkeys(table.get(name, "(none)") for table in tables))) > 1
    ]
    if not parts:
        return ""
    more = f" and {len(parts) - SHOWN_CHANGES} more" if len(parts) > SHOWN_CHANGES else ""
    return f"the trials' code did not all run on the same kernel: {', '.join(parts[:SHOWN_CHANGES])}{more}"


# Which scorer of a store a user means.


_JUDGE = re.compile(r"judge\[(?P<name>.+)(?P<digits>@[0-9a-f]{8})(?P<options>(?:,[a-z]+=[a-z0-9]+)*)\]", re.DOTALL)


def scorer_meant(known: Sequence[str], said: str) -> str:
    """The scorer of that name. A judge is also known by its model's name: `judge[gpt-5@1a2b3c4d,again=1]` is
    `judge[gpt-5,again=1]`, `gpt-5,again=1` and `gpt-5@1a2b3c4d,again=1`.

    Raises InputError for what stands for several; what stands for none is given back as it is.
    """
    meant = [scorer for scorer in known if said == scorer] or [scorer for scorer in known if said in _short(scorer)]
    if len(meant) > 1:
        raise InputError(
            f"--scorer: {said!r} stands for several scorers",
            hint=f"Name one of them in full, between quotes: {', '.join(meant)}.",
            code="several_scorers",
        )
    return meant[0] if meant else said


def _short(scorer: str) -> tuple[str, ...]:
    judge = _JUDGE.fullmatch(scorer)
    if judge is None:
        return ()
    name, digits, options = judge.groups()
    return f"{name}{options}", f"judge[{name}{options}]", f"{name}{digits}{options}"


# Reads a store and compares: what `compare` and the end of `run` share.


@dataclass(frozen=True, slots=True)
class Paired:
    """Ended trials to compare, the baseline's name and the order of the conditions.

    `left_out` counts ended trials of the store that the chosen run did not call for; `warning` says what makes the
    trials less alike than a comparison wants them, "" where nothing does.
    """

    observations: tuple[Observation, ...]
    baseline: str
    order: tuple[str, ...]
    left_out: int
    warning: str

    def compare(self, *, by: Sequence[GroupBy] = (), seed: int = 0, harm: bool = True) -> list[Comparison]:
        return compare(self.observations, self.baseline, by=by, seed=seed, order=self.order, harm=harm)

    def flips(self) -> list[Flip]:
        return flips(self.observations, self.baseline, order=self.order)

    def floors(self) -> list[Floor]:
        return floors(self.observations, self.baseline, order=self.order)

    def miss_rates(self) -> list[MissRate]:
        return miss_rates(self.observations, self.order)

    def miss_differences(self, *, seed: int = 0) -> list[MissDifference]:
        return miss_differences(self.observations, self.order, seed=seed)

    def refused_calls(self) -> list[RefusedCalls]:
        return refused_calls(self.observations, self.order)


def read_paired(path: Path, *, baseline: str | None = None, run: str = "latest", scorer: str | None = None) -> Paired:
    """The trials that one run called for (`latest`, or the beginning of its id), or `all` that the store holds.

    Baseline and scorers are by default that run's; for `all`, the latest run's. Raises InputError and StoreError.
    """
    with Store(path) as store, store.at_one_moment():
        return paired(store, baseline=baseline, run=run, scorer=scorer)


def paired(store: Store, *, baseline: str | None = None, run: str = "latest", scorer: str | None = None) -> Paired:
    """The same of a store that is open."""
    observations = observe(store, run=run, scorer=scorer)
    chosen = chosen_run(store, run)
    return Paired(
        observations=tuple(observations),
        baseline=baseline or chosen.baseline,
        order=tuple(condition.name for condition in store.conditions()),
        left_out=store.ended_trials() - len(observations),
        warning=changed_kernels(store.environments(run=None if run == "all" else chosen.id)),
    )


def observe(
    store: Store, *, run: str = "all", scorer: str | None = None, beside: str | None = None
) -> list[Observation]:
    """The ended trials that `run` stands for as in `read_paired`, with the scores of one scorer; by default with those
    of that run's scorers. `beside` keeps to those of a trial's question and model, by its whole id. Raises InputError
    for a run or scorer that is not there."""
    chosen = chosen_run(store, run)
    known, trials = store.scorers(), None if run == "all" else chosen.id
    scorers = [scorer_meant(known, scorer)] if scorer else [name for name in chosen.scorers if name in known]
    if scorers or not chosen.scorers:
        return store.observations(run=trials, scorers=scorers, beside=beside)
    # What others made of the trials must not be taken for the scores of those that have not scored yet.
    observations = store.observations(run=trials, scorers=known[:1], beside=beside)
    return [replace(seen, value=None, verdict=None) for seen in observations]


def read_refused_calls(path: Path) -> list[RefusedCalls]:
    """Of all trials of plans that a store holds, whatever their scores. Raises StoreError."""
    with Store(path) as store, store.at_one_moment():
        # Any scorer will do, and where there are several one has to be named.
        return refused_calls(
            store.observations(scorers=store.scorers()[:1]), [condition.name for condition in store.conditions()]
        )


def chosen_run(store: Store, run: str) -> Run:
    """The one whose id begins so, or the latest. Raises InputError where there is none, or several."""
    runs = store.runs()
    if not runs:
        raise InputError(f"{store.path} holds no run yet", hint="toolablate run PLAN", code="empty_store")
    found = runs if run in ("latest", "all") else [each for each in runs if each.id.startswith(run)]
    if not found or (len(found) > 1 and found is not runs):
        shown = ", ".join(each.id[:10] for each in runs[-5:])
        raise InputError(
            f"--run: {run!r} is not one run of {store.path}", hint=f"the last: {shown}", code="unknown_run"
        )
    return found[-1]


# Which models, conditions and questions of a store a user means.


_SHOWN = 10


def means(name: str, label: str) -> bool:
    """Whether a name that was typed stands for a label; records that share a name are labelled `name@digest`."""
    return name in (label, label.rpartition("@")[0])


def require_ended(option: str, what: str, name: str, labels: Collection[str]) -> None:
    """Raises InputError where `name` stands for none of the labels that ended trials have; `what` is `model` or the
    like."""
    if any(means(name, label) for label in labels):
        return
    near = get_close_matches(name, labels, n=1)
    known = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(_plain, sorted(labels)[:_SHOWN]))}"
    raise InputError(f"{option}: no ended trial has the {what} {_plain(name)!r}", hint=known, code=f"unknown_{what}")


def _plain(label: str) -> str:
    return one_line(label, max_chars=80)


# Reads a store's ladders: what `ladder` and the end of `run` share.


@dataclass(frozen=True, slots=True)
class Climbed:
    """Ended trials, and the ladders among their conditions. `left_out` counts ended trials of the store that the chosen
    run did not call for; `warning` says what makes the trials less alike than a comparison wants them, "" where nothing
    does."""

    observations: tuple[Observation, ...]
    ladders: tuple[Ladder, ...]
    left_out: int
    warning: str

    def waterfalls(self, *, seed: int = 0) -> list[Waterfall]:
        return waterfalls(self.observations, self.ladders, seed=seed)


def read_ladders(
    path: Path,
    *,
    run: str = "latest",
    scorer: str | None = None,
    models: Sequence[str] = (),
    toolsets: Sequence[str] = (),
) -> Climbed:
    """The ladders of the trials that one run called for (`latest`, or the beginning of its id), or `all` that the store
    holds; of all models and toolsets, or of those that are named. Raises InputError where there is none, and says what
    a ladder wants; StoreError."""
    with Store(path) as store, store.at_one_moment():
        trials = paired(store, run=run, scorer=scorer)
        conditions = store.conditions_of(trials.observations)
    found = ladders(conditions)
    climbed = _climbed(trials.observations, found)
    if not climbed:
        _refuse_mistyped(trials.observations, models, toolsets)
        raise _without_ladder(path, found, conditions)
    _require_named("--model", models, climbed)
    kept = [seen for seen in trials.observations if not models or seen.model in models]
    chosen = {name for model in models or climbed for name in climbed[model]}
    _require_named("--toolset", toolsets, chosen)
    chosen &= set(toolsets or chosen)
    return Climbed(
        tuple(kept),
        tuple(ladder for ladder in found if ladder.toolset in chosen),
        trials.left_out,
        trials.warning,
    )


def waterfalls_of(path: Path, observations: Iterable[Observation]) -> list[Waterfall]:
    """The waterfalls of observations of a store, the same that `ladder` shows."""
    seen = list(observations)
    with Store(path) as store:
        return waterfalls(seen, ladders(store.conditions_of(seen)))


def _climbed(observations: Iterable[Observation], found: Sequence[Ladder]) -> dict[str, list[str]]:
    """The toolsets of each model that has a ladder."""
    run: dict[str, set[str]] = defaultdict(set)
    for seen in observations:
        run[seen.model].add(seen.condition)
    climbed = {
        model: [ladder.toolset for ladder in found if ladder.among(labels) is not None]
        for model, labels in sorted(run.items())
    }
    return {model: toolsets for model, toolsets in climbed.items() if toolsets}


def _require_named(option: str, names: Sequence[str], there: Iterable[str]) -> None:
    known = sorted(there)
    for name in set(names) - set(known):
        raise InputError(
            f"{option}: there is no ladder of {_shown(name)!r}",
            hint=f"Those that are there: {', '.join(map(_shown, known))}.",
            code="no_ladder",
        )


def _refuse_mistyped(seen: Sequence[Observation], models: Sequence[str], toolsets: Sequence[str]) -> None:
    """A name that is none is no ladder that is missing, unless no trial has ended at all."""
    if seen:
        for name in models:
            require_ended("--model", "model", name, {each.model for each in seen})
        for name in toolsets:
            require_ended("--toolset", "condition", name, {each.condition for each in seen})


def _without_ladder(path: Path, found: Sequence[Ladder], conditions: Mapping[str, Condition]) -> InputError:
    parted = next((ladder for ladder in found if ladder.parted), None)
    if parted is not None:
        ends = " and ".join(map(_shown, (parted.arms["none"], parted.toolset)))
        return InputError(
            f"No model has ended trials under both ends of a ladder, and an arm between: {ends}",
            hint="Run the plan again: it does what is missing. Trials of earlier runs are read with --run all.",
            code="no_ladder",
        )
    tooled = {label: condition for label, condition in conditions.items() if has_ladder(condition)}
    if not tooled:
        there = ", ".join(map(_shown, conditions)) or "no trial has ended"
        return InputError(
            f"There is no ladder in {path}: no condition has tools that the model may call ({there})",
            hint='Write ladder = ["python"] into the plan (or "search", or tools of your own), and run it.',
            code="no_ladder",
        )
    label, real = next(iter(tooled.items()))
    why = f"its first arm is missing, a condition without prompt and tools{_of_another_budget(real, conditions)}"
    if found:
        label = found[0].toolset
        why = f"no arm is between {_shown(found[0].arms['none'])} and {_shown(label)} to take its effect apart"
    return InputError(
        f"There is no ladder of {_shown(label)} in {path}: {why}",
        hint=f'Write ladder = ["{_shown(label)}"] into the plan (a condition of your own as its table), and run it: it'
        " adds all arms, and what the store holds is not run again.",
        code="no_ladder",
    )


def _of_another_budget(real: Condition, conditions: Mapping[str, Condition]) -> str:
    bare = next((label for label, each in conditions.items() if not each.tools and not each.prompt), None)
    if bare is None:
        return ""
    differing = [name for name, limit in real.budget if limit != getattr(conditions[bare].budget, name)]
    return f" and with the same budget ({_shown(bare)} differs in {', '.join(differing) or 'more than these'})"


def _shown(label: str) -> str:
    return one_line(label, max_chars=80)
