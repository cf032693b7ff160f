"""What readers and rules say of the drawn flips: how far two readers agree, and how often the rules agree with them."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import NOTHING, TableOf, macro_f1
from bench.real_traces.sets import SETS, Flip, call
from bench.real_traces.sheets import trial_ids

from toolablate.analysis.agreement.kappa import cohens_kappa, kappa_interval, margins
from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.analysis.attribution.trace_rules import NoToolTrial, attribute_by_trace
from toolablate.analysis.effect import accuracy
from toolablate.traces.store import Store

READERS = ("reader1", "reader2")
LABELS = Path(__file__).parent / "labels"
RESAMPLES = 1000

ACCEPTED: dict[str, frozenset[str]] = {
    **{
        label: frozenset({label})
        for label in ("format", "tool_fault", "calling", "lock_in", "retrieval_distraction", "budget")
    },
    # One trial cannot tell an error that the model makes now and then from one that it always makes.
    "own_error": frozenset({"own_error", "sampling_noise"}),
    "gold_disputable": frozenset(),
}
"""Mechanisms that agree with a reader's label. Against a disputable answer key nothing can be right."""

OF_TOOLS = frozenset(
    {"retrieval_distraction", "lock_in", "other_results", "tool_fault", "availability", "calling"},
)
"""Mechanisms that blame a tool."""


@dataclass(frozen=True, slots=True)
class Read:
    """What a reader holds for the cause of a flip; see GUIDE.md."""

    label: str
    secondary: str | None
    sure: bool
    step: int | None


def read_labels(path: Path, flips: Iterable[Flip]) -> dict[str, Read]:
    """By the flips' ids. Raises ValueError for another id, a label twice, or a word that is no label."""
    known, found = {flip.id for flip in flips}, dict[str, Read]()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        row = json.loads(line)
        read = Read(row["label"], row.get("secondary"), bool(row.get("sure")), row.get("step"))
        if row["id"] not in known or row["id"] in found:
            raise ValueError(f"{path}:{number}: {row['id']!r} was not drawn, or is labelled twice")
        if read.label not in ACCEPTED or read.secondary not in (None, *ACCEPTED):
            raise ValueError(f"{path}:{number}: the labels are {', '.join(ACCEPTED)}")
        found[row["id"]] = read
    return found


# What the rules say.


def said_by_attribute(flips: Iterable[Flip], store: Path) -> dict[str, str]:
    """What `toolablate attribute` says first, by ids: it weighs the rule's finding against the failures that are
    expected without tools, over all questions of the store."""
    found = json.loads(call("attribute", store, "--json"))
    said = {(row["question"], row["condition"]): row["attribution"] for row in found["trials"]}
    named = {flip.id: said.get((flip.question, flip.after)) for flip in flips}
    return {identity: each["mechanism"] for identity, each in named.items() if each}


def said_by_rules(flips: Sequence[Flip], store: Path) -> dict[str, str]:
    """What the rules find in the trace beside the right trial alone, as it is known that this is a flip."""
    said = {}
    with Store(store) as opened:
        questions = {each.id: each for each in opened.questions()}
        conditions = {each.identity(): each for each in opened.conditions()}
        trials = trial_ids(flips[0].set, opened) if flips else {}
        for flip in flips:
            seen = []
            for arm in (flip.before, flip.after):
                trace = opened.trace(trials[flip.question, arm])
                signals = signals_of(trace, questions[flip.question], conditions[trace.trial.condition])
                seen.append(NoToolTrial(signals, opened.scores(trace.trial.id)[0]))
            attribution = attribute_by_trace(seen[1].signals, seen[1].score, seen[:1])
            if attribution is not None:
                said[flip.id] = attribution.mechanism
    return said


# Figures.


def agreement(flips: Sequence[Flip], one: Mapping[str, Read], other: Mapping[str, Read]) -> dict[str, Any]:
    """Of flips that both labelled: Cohen's kappa over labels with a 95 % bootstrap interval over clusters."""
    both = [flip for flip in flips if flip.id in one and flip.id in other]
    units = defaultdict(list)
    for flip in both:
        units[flip.cluster].append((one[flip.id].label, other[flip.id].label))
    counted = margins(list(units.values()))
    return {
        "flips": len(both),
        "agreed": sum(one[flip.id].label == other[flip.id].label for flip in both),
        "overlapping": sum(bool(_names(one[flip.id]) & _names(other[flip.id])) for flip in both),
        "both_sure": sum(one[flip.id].sure and other[flip.id].sure for flip in both),
        "same_step": sum(one[flip.id].step == other[flip.id].step for flip in both),
        "kappa": cohens_kappa(counted),
        "ci95": kappa_interval(counted),
    }


def _names(read: Read) -> set[str]:
    return {read.label, read.secondary or read.label}


def agreed(one: Mapping[str, Read], other: Mapping[str, Read]) -> dict[str, Read]:
    """Those of which both say the same; either's second word counts."""
    return {
        identity: Read(read.label, read.secondary or other[identity].secondary, read.sure, read.step)
        for identity, read in one.items()
        if identity in other and other[identity].label == read.label
    }


def measured(flips: Sequence[Flip], truth: Mapping[str, Read], said: Mapping[str, str]) -> dict[str, Any]:
    """Of labelled flips without those whose answer key is disputed: shares in percent, intervals at 95 % over
    clusters."""
    labelled = [flip for flip in flips if flip.id in truth]
    scored = [flip for flip in labelled if truth[flip.id].label != "gold_disputable"]
    units = [("cluster", flip.cluster) for flip in scored]
    right = [said.get(flip.id) in ACCEPTED[truth[flip.id].label] for flip in scored]
    lenient = [any(said.get(flip.id) in ACCEPTED[name] for name in _names(truth[flip.id])) for flip in scored]
    clusters: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for flip in scored:
        clusters[flip.cluster].append((truth[flip.id].label, reader_word(said.get(flip.id))))
    pairs = [pair for each in clusters.values() for pair in each]
    commonest = Counter(true for true, _ in pairs).most_common(1)
    return {
        "scored": len(scored),
        "disputable": len(labelled) - len(scored),
        "accuracy": _percent(accuracy([float(each) for each in right], units)),
        "primary_or_secondary": _percent(accuracy([float(each) for each in lenient], units)),
        "macro_f1": [macro_f1(pairs), *resampled(list(clusters.values()), macro_f1)],
        "commonest": [commonest[0][0], 100 * commonest[0][1] / len(pairs)] if commonest else None,
        "confusion": _confusion(pairs),
    }


def reader_word(mechanism: str | None) -> str | None:
    """A mechanism in the readers' words; None where nothing is known."""
    if mechanism in (None, "unknown"):
        return None
    return "own_error" if mechanism in ACCEPTED["own_error"] else mechanism


def _percent(found: Any) -> list[float | None]:
    return [found.percent, *(found.ci95 or (None, None))]


def resampled(
    clusters: Sequence[Sequence[Any]], figure: Callable[[Sequence[Any]], float | None], *, seed: int = 0
) -> tuple[float | None, float | None]:
    """The 95 % percentile interval of a figure of all clusters' members, by a bootstrap over clusters."""
    rng = random.Random(seed)
    drawn = [
        figure([each for own in rng.choices(clusters, k=len(clusters)) for each in own])
        for _ in range(RESAMPLES if len(clusters) > 1 else 0)
    ]
    values = sorted(each for each in drawn if each is not None)
    return (values[int(0.025 * len(values))], values[int(0.975 * len(values))]) if values else (None, None)


def _confusion(pairs: Iterable[tuple[str, str | None]]) -> dict[str, dict[str, int]]:
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for true, said in pairs:
        table[true][said or "nothing"] += 1
    return {true: dict(said) for true, said in sorted(table.items())}


def figures_of(
    flips: Sequence[Flip], labels: Mapping[str, Mapping[str, Read]], said: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """`labels` by reader, `said` by method. Per set and of all: agreement, and each method against each reader and,
    where there are two, against what both say."""
    references = dict(labels)
    if len(labels) == 2:
        references = {"both readers": agreed(*labels.values()), **labels}
    groups = {**{name: [flip for flip in flips if flip.set == name] for name in SETS}, "all": list(flips)}
    null = groups["mmlu_pro"]
    return {
        "flips": {name: len(own) for name, own in groups.items()},
        "agreement": {name: agreement(own, *labels.values()) for name, own in groups.items()}
        if len(labels) == 2
        else {},
        "rules": [
            {"set": name, "method": method, "against": reference, **measured(own, truth, says)}
            for method, says in said.items()
            for reference, truth in references.items()
            for name, own in groups.items()
        ],
        "null_cases_blamed_on_tools": {
            method: [sum(says.get(flip.id) in OF_TOOLS for flip in null), len(null)] for method, says in said.items()
        },
    }


def tables_of(figures: Mapping[str, Any]) -> Iterable[TableOf]:
    columns = ("", "flips", "same label", "a label in common", "both sure", "same step", "Cohen's kappa [95 %]")
    counted = ("flips", "agreed", "overlapping", "both_sure", "same_step")
    lines = [
        (name, *(str(each[key]) for key in counted), _figure([each["kappa"], *(each["ci95"] or ())], 2))
        for name, each in figures["agreement"].items()
    ]
    yield "two readers", columns, lines
    rows = [row for row in figures["rules"] if row["scored"]]
    columns = ("said by", "against", "set", "flips", "disputable", "right, % [95 %]", "or secondary, %")
    yield "rules over traces", (*columns, "macro-F1 [95 %]", "commonest label, %"), [_line(row) for row in rows]
    for row in rows:
        if row["set"] == "all" and row["against"] == rows[0]["against"]:
            names = sorted({name for said in row["confusion"].values() for name in said} | set(row["confusion"]))
            confused = [(true, *(str(said.get(name, "")) for name in names)) for true, said in row["confusion"].items()]
            yield f"{row['method']}: labels of {row['against']} by row", ("", *names), confused


def _line(row: Mapping[str, Any]) -> tuple[str, ...]:
    label, share = row["commonest"]
    return (
        *(str(row[key]) for key in ("method", "against", "set", "scored", "disputable")),
        _figure(row["accuracy"], 1),
        _figure(row["primary_or_secondary"][:1], 1),
        _figure(row["macro_f1"], 2),
        f"{share:.1f} ({label})",
    )


def _figure(found: Sequence[float | None], digits: int) -> str:
    if found[0] is None:
        return NOTHING
    bounds = [f"{each:.{digits}f}" for each in found[1:] if each is not None]
    return f"{found[0]:.{digits}f}" + (f" [{', '.join(bounds)}]" if bounds else "")
