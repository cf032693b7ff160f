"""Two stores beside each other: the same questions, by what is asked, under the same conditions."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from toolablate.analysis.comparison import Comparison, compare
from toolablate.analysis.flips import Flip, flips
from toolablate.analysis.from_store import changed_kernels, chosen_run, means, observe, scorer_meant
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Environment, Model, Question, Run
from toolablate.traces.store import Outlines, Store, TrialSummary
from toolablate.traces.terminal_text import one_line

SHOWN = 5
"""How many names a sentence has."""
_NAMED = {"model": "condition", "baseline": "here", "condition": "there"}


@dataclass(frozen=True, slots=True)
class StoreSide:
    """The ended trials of one store that are compared. `questions` and `traces` have the id of each
    trial's question and the digest of its trace; models and conditions are by the names that summaries give them."""

    path: Path
    summaries: tuple[TrialSummary, ...]
    run: Run
    scored_by: tuple[tuple[str, int], ...]
    questions: Mapping[str, str]
    traces: Mapping[str, str]
    records: Mapping[str, Question]
    models: Mapping[str, Model]
    conditions: Mapping[str, Condition]
    environments: tuple[Environment, ...]


@dataclass(frozen=True, slots=True)
class TwoStores:
    """`summaries` are of both stores: in them `model` is the condition (with the model, where several are compared) and
    `condition` the store, so that they are compared as two conditions of one model are. `differences` say in a sentence
    each what makes the stores less alike than a comparison wants them; `shared` counts questions of both."""

    here: str
    there: str
    summaries: tuple[TrialSummary, ...]
    order: tuple[str, ...]
    shared: int
    differences: tuple[str, ...]

    def compare(self, *, by: Sequence[str] = (), seed: int = 0, harm: bool = True) -> list[Comparison]:
        """`there` with `here`, paired by question, as `compare` does; p-values are corrected over all rows."""
        rows = compare(self.summaries, self.here, by=by, seed=seed, harm=harm)
        places = {name: place for place, name in enumerate(self.order)}
        return sorted((row for row in rows if row.baseline_trials and row.trials), key=lambda row: places[row.model])

    def flips(self) -> list[Flip]:
        """Of the questions that are right in one store alone."""
        places = {name: place for place, name in enumerate(self.order)}
        return sorted(flips(self.summaries, self.here), key=lambda flip: places[flip.model])


def two_stores_json(found: TwoStores, comparisons: Sequence[Comparison]) -> str:
    """`{"here", "there", "shared_questions", "differences": [...], "comparisons": [...]}`; in the rows `here` and
    `there` name the stores, and `condition` what ran in both."""
    return json.dumps(
        {
            "here": found.here,
            "there": found.there,
            "shared_questions": found.shared,
            "differences": found.differences,
            "comparisons": [_renamed(asdict(row)) for row in comparisons],
        },
        ensure_ascii=False,
        indent=2,
    )


def _renamed(row: dict[str, Any]) -> dict[str, Any]:
    return {_NAMED.get(name, name): value for name, value in row.items()}


def read_two_stores(
    here: Path,
    there: Path,
    *,
    run: str = "latest",
    scorer: str | None = None,
    models: tuple[str, str] | None = None,
) -> TwoStores:
    """`run` is `latest` or `all`, of each; `models` are one of each store, by default those that both have, or the only
    one of each. Raises InputError where nothing is in common, and StoreError."""
    if here.exists() and there.exists() and here.samefile(there):
        raise InputError(f"{here} and {there} are one store", hint="Name another store.", code="same_file")
    known = [_known_scorers(path) for path in (here, there)]
    common = [name for name in known[0] if name in known[1]]
    return beside(_read(here, run, scorer, common), _read(there, run, scorer, common), models)


def _known_scorers(path: Path) -> tuple[str, ...]:
    with Store(path) as store:
        return tuple(store.scorers())


def _read(path: Path, run: str, scorer: str | None, common: Sequence[str]) -> StoreSide:
    with Store(path) as store, store.at_one_moment():
        chosen = chosen_run(store, run)
        try:
            summaries = observe(store, run=run, scorer=scorer)
        except InputError as error:
            if error.code != "several_scorers" or scorer is not None:
                raise
            # Each store's own first one could be another, and the difference one of scorers.
            scorer = next(iter(common), store.scorers()[0])
            summaries = observe(store, run=run, scorer=scorer)
        used = (scorer_meant(store.scorers(), scorer),) if scorer else tuple(chosen.scorers)
        scored = next((seen.trial for seen in summaries if seen.value is not None), None)
        scores = [each for each in store.scores(scored) if not used or each.scorer in used] if scored else []
        conditions = store.conditions_of(summaries)
        environments = store.environments(run=None if run == "all" else chosen.id)
        records = {each.identity(): each for each in store.questions()}
        known = {each.identity(): each for each in store.models()}
    with Outlines(path) as outlines:
        outlined = {each.trial: each for each in outlines.trials()}
    return StoreSide(
        path=path,
        summaries=tuple(summaries),
        run=chosen,
        scored_by=tuple(sorted((each.scorer, each.scorer_version) for each in scores)),
        questions={seen.trial: outlined[seen.trial].question for seen in summaries},
        traces={seen.trial: outlined[seen.trial].trace for seen in summaries},
        records=records,
        models={seen.model: known[outlined[seen.trial].model] for seen in summaries},
        conditions=conditions,
        environments=environments,
    )


def beside(here: StoreSide, there: StoreSide, models: tuple[str, str] | None = None) -> TwoStores:
    """Raises InputError as `read_two_stores` does."""
    names = _names(here.path, there.path)
    pairs = _models(here, there, models)
    conditions = [name for name in here.conditions if name in there.conditions]
    asked = set(here.questions.values()) & set(there.questions.values())
    if not conditions or not asked:
        what = "question" if conditions else "condition"
        raise InputError(
            f"{here.path} and {there.path} have no {what} in common with ended trials",
            hint="Questions are the same where the same is asked, conditions where they have one name.",
            code="nothing_in_common",
        )
    labels = {(ours, name): f"{name} · {ours}" if pairs[1:] else name for ours, _ in pairs for name in conditions}
    theirs = {their: ours for ours, their in pairs}
    clusters = {
        side.questions[seen.trial]: seen.cluster for side in (there, here) for seen in side.summaries if seen.cluster
    }
    called = {here.questions[seen.trial]: seen.question for seen in here.summaries}
    kept = [
        replace(
            seen,
            model=labels[model, seen.condition],
            condition=name,
            question=called[question],
            # Where one store alone says so, two questions are still not independent.
            cluster=clusters.get(question, ""),
        )
        for side, name, known in ((here, names[0], {ours: ours for ours, _ in pairs}), (there, names[1], theirs))
        for seen in side.summaries
        if (question := side.questions[seen.trial]) in asked
        and (model := known.get(seen.model)) is not None
        and seen.condition in conditions
    ]
    if {seen.condition for seen in kept} != set(names):
        raise InputError(
            f"{here.path} and {there.path} have ended no trial of one model, condition and question in both",
            hint="Run both on the same questions.",
            code="nothing_in_common",
        )
    return TwoStores(
        *names,
        summaries=tuple(kept),
        order=tuple(labels.values()),
        shared=len(asked),
        differences=tuple(_differences(here, there, pairs, conditions, names)),
    )


def _names(here: Path, there: Path) -> tuple[str, str]:
    if here.name != there.name:
        return here.name, there.name
    one, other = (f"{path.resolve().parent.name}/{path.name}" for path in (here, there))
    return (one, other) if one != other else (f"A: {one}", f"B: {other}")


def _models(here: StoreSide, there: StoreSide, wanted: tuple[str, str] | None) -> list[tuple[str, str]]:
    if wanted is not None:
        return [(_meant(here, wanted[0]), _meant(there, wanted[1]))]
    both = [name for name in here.models if name in there.models]
    if both:
        return [(name, name) for name in both]
    if len(here.models) == len(there.models) == 1:
        return [(next(iter(here.models)), next(iter(there.models)))]
    raise InputError(
        f"{here.path} and {there.path} have no model in common: {_few(here.models)}; {_few(there.models)}",
        hint="--models A B names one of each store.",
        code="nothing_in_common",
    )


def _meant(side: StoreSide, name: str) -> str:
    found = [label for label in side.models if label == name] or [label for label in side.models if means(name, label)]
    if len(found) != 1:
        what = "several models" if found else "no model"
        raise InputError(
            f"--models: {_plain(name)!r} stands for {what} of {side.path}",
            hint=f"There are: {_few(side.models)}.",
            code="unknown_model",
        )
    return found[0]


def _differences(
    here: StoreSide,
    there: StoreSide,
    pairs: Sequence[tuple[str, str]],
    conditions: Sequence[str],
    names: tuple[str, str],
) -> Iterator[str]:
    """The gravest first: what is asked and how it is scored, then who was asked, then on what it ran."""
    yield from _asked(here, there, names)
    if here.scored_by != there.scored_by:
        yield f"Scores are by other scorers: {_scorers(here)} in {names[0]}, {_scorers(there)} in {names[1]}."
    for own, other in pairs:
        if own != other:
            yield f"The models differ: {_plain(own)} in {names[0]}, {_plain(other)} in {names[1]}."
        if changed := _fields(here.models[own], there.models[other]):
            yield f"{_plain(own)} has another {changed}."
    for name in conditions:
        if changed := _fields(here.conditions[name], there.conditions[name]):
            yield f"The condition {_plain(name)} has another {changed}."
    for what, ours, theirs in (
        ("models", here.models, there.models),
        ("conditions", here.conditions, there.conditions),
    ):
        compared = {name for pair in pairs for name in pair} if what == "models" else set(conditions)
        if alone := [name for name in dict.fromkeys((*ours, *theirs)) if name not in compared]:
            yield f"In one store alone, and left out: {what} {_few(alone)}."
    if same := sum(here.traces[trial] == there.traces.get(trial) for trial in here.traces):
        yield f"{same:,} of the trials are the same traces in both stores."
    yield from _ran_on(here, there)


def _asked(here: StoreSide, there: StoreSide, names: tuple[str, str]) -> Iterator[str]:
    ours, theirs = ({each: side.records[each] for each in set(side.questions.values())} for side in (here, there))
    both = ours.keys() & theirs.keys()
    called = Counter(ours[each].id for each in ours.keys() - both)
    changed = sorted(theirs[each].id for each in theirs.keys() - both if theirs[each].id in called)
    if changed:
        yield f"Of one id, asking something else, and left out: {_questions(len(changed))} ({_few(changed)})."
    for store, alone in zip(names, (ours.keys() - both, theirs.keys() - both), strict=True):
        if count := len(alone) - len(changed):
            yield f"In {store} alone, and left out: {_questions(count)}."
    keys = ((ours[each].key_identity(), theirs[each].key_identity(), ours[each].id) for each in both)
    mended = sorted(name for one, other, name in keys if one != other)
    if mended:
        told = f"With another answer key: {_questions(len(mended))} ({_few(mended)})"
        yield f"{told}. Score one store again by the other's."


def _ran_on(here: StoreSide, there: StoreSide) -> Iterator[str]:
    if here.run.toolablate != there.run.toolablate:
        yield f"Run by other versions of toolablate: {here.run.toolablate} and {there.run.toolablate}."
    keys = dict.fromkeys((*here.run.fingerprint, *there.run.fingerprint))
    other = [key for key in keys if here.run.fingerprint.get(key) != there.run.fingerprint.get(key)]
    if other:
        yield f"The environment differs: {_few(other)}."
    if kernels := changed_kernels([*here.environments, *there.environments]):
        yield f"{kernels[:1].upper()}{kernels[1:]}."


def _fields(ours: Model | Condition, theirs: Model | Condition) -> str:
    """What of two records of one name differs, apart from what is no part of what they are."""
    if ours.identity() == theirs.identity():
        return ""
    one, other = ours.model_dump(mode="json"), theirs.model_dump(mode="json")
    passed = {"version", "name", *getattr(ours, "not_identity", ())}
    return ", ".join(
        key.replace("_", " ") for key in one | other if key not in passed and one.get(key) != other.get(key)
    )


def _scorers(side: StoreSide) -> str:
    return _few([f"{name} (version {version})" for name, version in side.scored_by]) or "none"


def _questions(count: int) -> str:
    return "1 question" if count == 1 else f"{count:,} questions"


def _few(names: Sequence[str] | Mapping[str, Any]) -> str:
    shown = ", ".join(map(_plain, list(names)[:SHOWN]))
    return f"{shown} and {len(names) - SHOWN:,} more" if len(names) > SHOWN else shown


def _plain(name: str) -> str:
    return one_line(name, max_chars=80)
