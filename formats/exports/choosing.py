"""Which trials go out of a store."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from toolablate.formats.exports.exported import Called
from toolablate.traces.errors import InputError
from toolablate.traces.store import Observation, Store

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Choice:
    """The ended trials that one `run` called for (the beginning of its id, or `latest`), or `all` that a store holds;
    of all models and conditions, or of those of these names; with `replays` the counterfactuals of these as well."""

    run: str = "all"
    models: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    replays: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """A trial by its id, and what its question, model and condition are called; of a counterfactual the condition is
    that of its parent."""

    trial: str
    called: Called
    replay: bool = False


def chosen(store: Store, choice: Choice) -> tuple[Chosen, ...]:
    """In the order of the store, each trial before its counterfactuals. Raises InputError for a run, model or condition
    that is not there, StoreError."""
    seen = store.observations(scorers=store.scorers(), run=_run(store, choice.run))
    _require_known("model", choice.models, [each.model for each in seen])
    _require_known("condition", choice.conditions, [each.condition for each in seen])
    wanted = [each for each in seen if _fits(each.model, choice.models) and _fits(each.condition, choice.conditions)]
    return tuple(_with_replays(store, wanted) if choice.replays else map(_chosen, wanted))


def _with_replays(store: Store, wanted: Sequence[Observation]) -> Iterator[Chosen]:
    replays = store.counterfactuals(scorers=store.scorers())

    def of(parent: Chosen) -> Iterator[Chosen]:
        yield parent
        for each in replays.get(parent.trial, ()):
            if each.outcome is not None:
                # Which may have been gone on from in its turn.
                yield from of(Chosen(each.trial, parent.called, replay=True))

    for seen in wanted:
        yield from of(_chosen(seen))


def _chosen(seen: Observation) -> Chosen:
    return Chosen(seen.trial, Called(question=seen.question, model=seen.model, condition=seen.condition))


def _run(store: Store, said: str) -> str | None:
    """The id of the run, None for all."""
    if said == "all":
        return None
    known = [run.id for run in store.runs()]
    found = known[-1:] if said == "latest" else [each for each in known if each.startswith(said)]
    if len(found) != 1:
        raise InputError(
            f"--run: {said!r} is not one run of {store.path}",
            hint=f"the last: {', '.join(each[:10] for each in known[-_SHOWN:]) or 'none'}",
            code="unknown_run",
        )
    return found[0]


def _fits(label: str, names: Sequence[str]) -> bool:
    """Records that share a name are labelled `name@digest`, and the name alone means all of them."""
    return not names or label in names or label.rpartition("@")[0] in names


def _require_known(key: Literal["model", "condition"], names: Sequence[str], labels: Sequence[str]) -> None:
    known = dict.fromkeys(labels)
    for name in names:
        if not any(_fits(label, [name]) for label in known):
            raise InputError(
                f"--{key}: no ended trial has the {key} {name!r}",
                hint=f"there are {', '.join(known) or 'none'}",
                code=f"unknown_{key}",
            )
