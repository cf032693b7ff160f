"""Reads a store for the comparisons: summaries, the run, scorer and names that a user means."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from toolablate.analysis.comparison import Alone, Comparison, alone, compare, compare_models
from toolablate.analysis.flips import Flip, Floor, flips, floors
from toolablate.analysis.misses import (
    CutInputs,
    MissDifference,
    MissRate,
    RefusedCalls,
    cut_inputs,
    miss_differences,
    miss_rates,
    refused_calls,
)
from toolablate.traces.errors import InputError
from toolablate.traces.records import Environment, Run
from toolablate.traces.store import Store
from toolablate.traces.store.summaries import Columns, TrialSummary
from toolablate.traces.terminal_text import one_line

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


_JUDGE = re.compile(
    r"(?P<kind>judge|checklist)\[(?P<name>.+)(?P<digits>@[0-9a-f]{8})(?P<options>(?:,[a-z]+=[a-z0-9]+)*)\]", re.DOTALL
)


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
    kind, name, digits, options = judge.groups()
    return f"{name}{options}", f"{kind}[{name}{options}]", f"{name}{digits}{options}"


# Reads a store and compares: what `compare` and the end of `run` share.


@dataclass(frozen=True, slots=True)
class Paired:
    """Ended trials to compare, the baseline's name and the order of the conditions.

    `left_out` counts ended trials of the store that the chosen run did not call for; `warning` says what makes the
    trials less alike than a comparison wants them, "" where nothing does.
    """

    summaries: tuple[TrialSummary, ...]
    baseline: str
    order: tuple[str, ...]
    left_out: int
    warning: str

    def compare(
        self,
        *,
        by: Sequence[str] = (),
        seed: int = 0,
        harm: bool = True,
        models: tuple[str, str] | None = None,
    ) -> list[Comparison]:
        """The conditions with the baseline; with the names of two `models` these two, as `compare_models` does. Raises
        InputError for a name that stands for no model or for several."""
        if models is None:
            return compare(self.summaries, self.baseline, by=by, seed=seed, order=self.order, harm=harm)
        first, second = map(self._model_meant, models)
        if first == second:
            raise InputError(f"--models: {_plain(models[0])!r} and {_plain(models[1])!r} are one", code="same_model")
        return compare_models(self.summaries, first, second, by=by, seed=seed, order=self.order, harm=harm)

    def _model_meant(self, name: str) -> str:
        labels = sorted({seen.model for seen in self.summaries})
        require_ended("--models", "model", name, labels)
        meant = [label for label in labels if label == name] or [label for label in labels if means(name, label)]
        if len(meant) > 1:
            raise InputError(
                f"--models: {_plain(name)!r} stands for several models",
                hint=f"Name one of them in full: {', '.join(map(_plain, meant))}.",
                code="several_models",
            )
        return meant[0]

    def alone(self) -> list[Alone]:
        return alone(self.summaries, self.baseline)

    def flips(self) -> list[Flip]:
        return flips(self.summaries, self.baseline, order=self.order)

    def floors(self) -> list[Floor]:
        return floors(self.summaries, self.baseline, order=self.order)

    def miss_rates(self) -> list[MissRate]:
        return miss_rates(self.summaries, self.order)

    def miss_differences(self, *, seed: int = 0) -> list[MissDifference]:
        return miss_differences(self.summaries, self.order, seed=seed)

    def refused_calls(self) -> list[RefusedCalls]:
        return refused_calls(self.summaries, self.order)

    def cut_inputs(self) -> list[CutInputs]:
        return cut_inputs(self.summaries, self.order)


def read_paired(path: Path, *, baseline: str | None = None, run: str = "latest", scorer: str | None = None) -> Paired:
    """The trials that one run called for (`latest`, or the beginning of its id), or `all` that the store holds.

    Baseline and scorers are by default that run's; for `all`, the latest run's. Raises InputError and StoreError.
    """
    with Store(path) as store, store.at_one_moment():
        return paired(store, baseline=baseline, run=run, scorer=scorer)


def paired(store: Store, *, baseline: str | None = None, run: str = "latest", scorer: str | None = None) -> Paired:
    """The same of a store that is open."""
    summaries = observe(store, run=run, scorer=scorer)
    chosen = chosen_run(store, run)
    return Paired(
        summaries=tuple(summaries),
        baseline=baseline or chosen.baseline,
        order=tuple(condition.name for condition in store.conditions()),
        left_out=store.ended_trials() - len(summaries),
        warning=changed_kernels(store.environments(run=None if run == "all" else chosen.id)),
    )


def observe(
    store: Store, *, run: str = "all", scorer: str | None = None, beside: str | None = None
) -> list[TrialSummary]:
    """The ended trials that `run` stands for as in `read_paired`, with the scores of one scorer; by default with those
    of that run's scorers. `beside` keeps to those of a trial's question and model, by its whole id. Raises InputError
    for a run or scorer that is not there."""
    counting = _counting(store, run, scorer)
    summaries = store.summaries(run=counting.run, scorers=counting.scorers, beside=beside)
    if counting.there:
        return summaries
    return [replace(seen, value=None, verdict=None) for seen in summaries]


def observed_columns(store: Store, *, run: str = "all", scorer: str | None = None) -> Columns:
    """The same by column, with more that the store tells of them. Raises likewise."""
    counting = _counting(store, run, scorer)
    found = store.summary_columns(run=counting.run, scorers=counting.scorers)
    nothing = {} if counting.there else dict.fromkeys(("value", "verdict"), (None,) * len(found["trial"]))
    return found | nothing


@dataclass(frozen=True, slots=True)
class _Counting:
    """The whole id of the run, None for all, and the scorers to read by; whether their scores are `there`: what others
    made of the trials must not be taken for the scores of those that have not scored yet."""

    run: str | None
    scorers: tuple[str, ...]
    there: bool = True


def _counting(store: Store, run: str, scorer: str | None) -> _Counting:
    chosen = chosen_run(store, run)
    known, trials = store.scorers(), None if run == "all" else chosen.id
    scorers = [scorer_meant(known, scorer)] if scorer else [name for name in chosen.scorers if name in known]
    if scorers or not chosen.scorers:
        return _Counting(trials, tuple(scorers))
    return _Counting(trials, known[:1], there=False)


def read_refused_calls(path: Path) -> list[RefusedCalls]:
    """Of all trials of plans that a store holds, whatever their scores. Raises StoreError."""
    with Store(path) as store, store.at_one_moment():
        # Any scorer will do, and where there are several one has to be named.
        return refused_calls(
            store.summaries(scorers=store.scorers()[:1]), [condition.name for condition in store.conditions()]
        )


def chosen_run(store: Store, run: str) -> Run:
    """The last one with this tag; or else the one whose id begins so, or the latest. Raises InputError where there is
    none, or several."""
    runs = store.runs()
    if not runs:
        raise InputError(f"{store.path} holds no run yet", hint="toolablate run PLAN", code="empty_store")
    tagged = [each for each in runs if run in each.tagged]
    found = tagged[-1:] or (runs if run in ("latest", "all") else [each for each in runs if each.id.startswith(run)])
    if not found or (len(found) > 1 and found is not runs):
        shown = ", ".join(" ".join((each.id[:10], *(f"({tag})" for tag in each.tagged))) for each in runs[-5:])
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
