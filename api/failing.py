"""The wrong answers of a store, grouped or listed, as `toolablate failures` does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from toolablate.analysis.failures import (
    Failure,
    FailureGroup,
    Failures,
    chosen,
    grouped,
    most_alike,
    read_failures,
    said_at,
    sampled,
    with_clusters,
    with_mechanisms,
    words_of,
)
from toolablate.api.results import Shown
from toolablate.traces.records import Attribution, Mechanism

if TYPE_CHECKING:
    from toolablate.formats.frames import Library

LISTED = 20
Tell = Callable[[int, int], None]
Clustering = Callable[[Failures[Failure]], Failures[Failure]]


@dataclass(frozen=True, slots=True, repr=False)
class WrongAnswers(Shown):
    """Groups of wrong answers by the values of `keys`, or where `listed` a list of them. `chances` are the inclusion
    probabilities of those that were drawn."""

    store: Path
    found: Failures[Failure]
    keys: tuple[str, ...]
    listed: bool
    limit: int
    chances: Mapping[str, float]

    @property
    def groups(self) -> list[FailureGroup[Failure]]:
        return grouped(self.found, self.keys)

    @property
    def frame(self) -> Any:
        """A row for each wrong answer that was chosen: pandas, or else polars."""
        return self.to_frame()

    def to_frame(self, library: "Library | None" = None) -> Any:
        from toolablate.formats.frames import frame_of_rows

        return frame_of_rows([_failure_json(each, self.chances) for each in self.found.failures], library)

    @property
    def json(self) -> Any:
        """What `toolablate failures --json` prints."""
        about = {
            "baseline": self.found.baseline,
            "wrong": self.found.wrong,
            "chosen": len(self.found.failures),
            "unscored": self.found.unscored,
            **clusters_json(self.found),
        }
        if self.listed:
            return {**about, "failures": [_failure_json(e, self.chances) for e in self.found.failures[: self.limit]]}
        return {**about, "by": list(self.keys), "groups": [_group_json(group) for group in self.groups]}

    def print(self, console: Console) -> None:
        from toolablate.reports.terminal.failures import failures_view, groups_view

        console.print(
            failures_view(self.found, self.limit)
            if self.listed
            else groups_view(self.found, self.keys, self.groups, self.store)
        )


def wrong_answers(
    store: Path,
    *,
    by: Sequence[str],
    where: Mapping[str, str],
    like: str | None = None,
    listed: bool = False,
    limit: int = LISTED,
    sample: int | None = None,
    seed: int = 0,
    run: str = "latest",
    scorer: str | None = None,
    baseline: str | None = None,
    clustering: Clustering | None = None,
    tell: Tell | None = None,
) -> WrongAnswers:
    """Raises InputError and StoreError. `clustering` makes the clusters, in place of the words that failures share;
    `tell` hears how far the index of texts is."""
    named = {"mechanism", "cluster"} & {*by, *where}
    attributed = attributions_of(store, run, scorer) if named or like else {}
    turned = {trial: each.turned_at for trial, each in attributed.items()} if "cluster" in named else None
    found = read_failures(store, run=run, scorer=scorer, baseline=baseline, turned=turned)
    if "mechanism" in named:
        found = with_mechanisms(found, {each: said.mechanism for each, said in attributed.items()})
    if "cluster" in named:
        found = clustering(found) if clustering else with_clusters(found, prompts_of(store))
    if like is not None:
        near = _alike_by(store, like, attributed, run=run, scorer=scorer, baseline=baseline, tell=tell)
        found, listed = most_alike(chosen(found, where), *near, most=limit), True
    else:
        found = chosen(found, where)
    chances: Mapping[str, float] = {}
    if sample is not None:
        found, chances = sampled(found, by, sample, seed)
        listed, limit = True, max(limit, len(found.failures))
    made = WrongAnswers(store, found, tuple(by), listed, limit, chances)
    if not listed:
        # A key that there is not is refused here, and not when it is shown.
        _ = made.groups
    return made


def attributions_of(store: Path, run: str, scorer: str | None) -> Mapping[str, Attribution]:
    """By trial, as `attribute` makes them from what is in the store."""
    from toolablate.experiments.attribution.explained import outlined
    from toolablate.experiments.attribution.readings_cache import readings_of
    from toolablate.reports.why.turn import as_told

    found = outlined(store, run=run, scorer=scorer, kept=readings_of(store))
    wrong = (as_told(each.attribution, each.evidence) for each in found.explained if each.attribution)
    return {each.trial: each for each in wrong}


def mechanisms_of(store: Path, run: str, scorer: str | None) -> Mapping[str, Mechanism]:
    """As `attribute` names them."""
    return {trial: each.mechanism for trial, each in attributions_of(store, run, scorer).items()}


def prompts_of(store: Path) -> dict[str, str]:
    """What questions ask, by name."""
    from toolablate.traces.store import Store

    with Store(store) as opened:
        return {question.id: "\n".join((question.prompt, *question.choices)) for question in opened.questions()}


def _alike_by(
    path: Path,
    prefix: str,
    attributed: Mapping[str, Attribution],
    *,
    run: str,
    scorer: str | None,
    baseline: str | None,
    tell: Tell | None,
) -> tuple[str, dict[str, float]]:
    """The whole id of a trial, and how much others say what it says, by trial. Raises InputError where there is no such
    trial, and StoreError."""
    from toolablate.analysis.clusters import tokens_of
    from toolablate.traces.store import Outlines, Store
    from toolablate.viewer.finding.store_texts import opened

    with Store(path) as store, Outlines(path) as outlines:
        trial = store.find_trial(prefix)
        question = store.question(store.trace(trial).trial.question)
        events = dict(outlines.events([trial])).get(trial, [])
        answer = "; ".join(next((each.extracted for each in reversed(store.scores(trial)) if each.extracted), ()))
    turned_at = attributed[trial].turned_at if trial in attributed else None
    asked = frozenset(tokens_of("\n".join((question.prompt, *question.choices))))
    words = words_of(said_at(events, turned_at), answer, asked)
    with opened(path, run=run, scorer=scorer, baseline=baseline) as texts:
        texts.refresh(tell)
        return trial, texts.alike(words)


def clusters_json(found: Failures[Failure]) -> dict[str, Any]:
    if found.clusters is None:
        return {}
    return {
        "clusters": [
            {
                "name": each.name,
                "size": each.size,
                "terms": list(each.terms),
                "stability": each.stability,
                "called": each.called or None,
                "examples": list(each.examples),
            }
            for each in found.clusters
        ]
    }


def _group_json(group: FailureGroup[Failure]) -> dict[str, Any]:
    return {
        "values": list(group.values),
        "wrong": len(group.failures),
        "share": round(group.share, 4),
        "ci95": [round(end, 4) for end in group.ci95],
        "by_condition": dict(group.by_condition),
        "trials": [each.seen.trial for each in group.failures],
    }


def _failure_json(failure: Failure, chances: Mapping[str, float]) -> dict[str, Any]:
    seen = failure.seen
    return {
        **{key: getattr(seen, key) for key in ("trial", "question", "model", "condition", "repeat", "verdict")},
        "answer": failure.answer,
        "expected": failure.expected,
        "relation": failure.relation,
        "flip": failure.flip or None,
        "mechanism": failure.mechanism,
        "cluster": failure.cluster or None,
        "domain": seen.domain,
        "inclusion_probability": chances.get(seen.trial),
    }
