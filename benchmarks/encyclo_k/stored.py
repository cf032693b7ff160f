"""Encyclo-K from files and stores: what the command line does with it."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from toolablate.analysis.from_store import observe, scorer_meant
from toolablate.benchmarks.encyclo_k.analyses import Reply, is_ours, tables
from toolablate.benchmarks.encyclo_k.figures import EncycloKTables
from toolablate.traces.errors import InputError
from toolablate.traces.plain import one_line
from toolablate.traces.store import Observation, Store

ID_CHARS = 8


def read_tables(path: Path, *, run: str = "all", scorer: str | None = None, seed: int = 0) -> EncycloKTables:
    """The analyses of a store's trials, of those that one run called for (`latest`, or the beginning of its id), or of
    `all` that it holds. Raises InputError where none of them is of Encyclo-K, and StoreError."""
    with Store(path) as store, store.at_one_moment():
        observations = observe(store, run=run, scorer=scorer)
        order = [condition.name for condition in store.conditions()]
        replies = list(_replies(store, observations, _scorers(store, run, scorer)))
    found = tables(replies, order=order, seed=seed)
    if not found.arms and not found.single:
        raise InputError(
            f"{one_line(str(path))} has no scored trial of Encyclo-K",
            hint="Run a plan on questions that `toolablate encyclo-k compose` or `import` wrote.",
            code="no_encyclo_k",
        )
    return found


def _scorers(store: Store, run: str, scorer: str | None) -> Collection[str]:
    """Those whose scores `observe` takes."""
    known = store.scorers()
    if scorer:
        return [scorer_meant(known, scorer)]
    runs = [each for each in store.runs() if run in ("all", "latest") or each.id.startswith(run)]
    return [name for name in runs[-1].scorers if name in known] or known


def _replies(store: Store, observations: Sequence[Observation], scorers: Collection[str]) -> Iterator[Reply]:
    questions = store.questions()
    # Where questions share a name, each is observed as name@digest.
    named = {question.id: question for question in questions}
    named |= {f"{question.id}@{question.identity()[:ID_CHARS]}": question for question in questions}
    for seen in observations:
        question = named[seen.question]
        if is_ours(question) and seen.outcome != "failed":
            yield Reply(seen, question, _chosen(store, seen, scorers), _tokens(store, seen))


def _chosen(store: Store, seen: Observation, scorers: Collection[str]) -> str:
    scores = [
        score
        for score in store.scores(seen.trial)
        if score.scorer in scorers and (score.value, score.verdict) == (seen.value, seen.verdict)
    ]
    newest = max(scores, key=lambda score: score.scorer_version, default=None)
    return newest.extracted[0] if newest is not None and len(newest.extracted) == 1 else ""


def _tokens(store: Store, seen: Observation) -> int | None:
    calls = [event for event in store.trace(seen.trial).events if event.kind == "model_call"]
    return calls[-1].reply.usage.output_tokens if calls else None
