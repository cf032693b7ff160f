"""Attributions beside the truth: what `toolablate attribute --json` says, and what the graph says of the same draws."""

import random
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from bench.figures import TableOf, macro_f1
from bench.structural.graph import (
    ARMS,
    NOTHING,
    Question,
    Situation,
    Truth,
    Turn,
    belief,
    expected,
    is_right,
    scores,
    shares,
    truth_of,
    turning_place,
)
from bench.structural.server import situation_of

from toolablate.agents.endpoint.completions import Completions
from toolablate.analysis.attribution.belief import belief_steps
from toolablate.traces.records import Event, ModelCall, ToolCall
from toolablate.traces.store import Store

METHODS = ("replay", "trace")
_NOISE = ("sampling_noise", "own_error")
_RESAMPLES = 400
_GRID = 200
_CHANCES = 100

LABELS = {
    "wrong_page": "retrieval_distraction",
    "late_page": "retrieval_distraction",
    "lock_in": "lock_in",
    "commitment": "lock_in",
    "volume": "volume",
    "sunk_cost": "calling",
    "budget": "budget",
    "tool_fault": "tool_fault",
    "format": "format",
    "availability": "availability",
    "prompt": "prompt",
    "mood": "sampling_noise",
    "noise": "sampling_noise",
    "own_error": "own_error",
}
"""The product's label of each cause."""


_OF_TWO_TOOLS = {"retrieval_distraction", "lock_in"}


def right_names(truth: Truth) -> frozenset[str]:
    """Where causes of search and of code took part, that both did is a right name, too."""
    names = frozenset(LABELS[each] for each in truth.also)
    return names | {"interaction"} if names >= _OF_TWO_TOOLS else names


@dataclass(frozen=True, slots=True)
class Verdict:
    """One wrong trial: the truth, what an oracle says that knows all but the draw of the answer, and what was said."""

    question: str
    truth: Truth
    oracle: str
    said: str | None
    confidence: float
    true_step: int | None
    said_step: int | None

    @property
    def right(self) -> bool:
        return self.said in right_names(self.truth)

    @property
    def label(self) -> str:
        """Of several right names the one that was said."""
        return self.said if self.said is not None and self.right else LABELS[self.truth.label]


@dataclass(frozen=True, slots=True)
class Known:
    """A trial with tools, as the graph sees it: where its last request stood, and its events."""

    trial: str
    question: Question
    condition: str
    situation: Situation
    events: tuple[Event, ...]

    @property
    def wrong(self) -> bool:
        return not scores(self.situation)


def known_trial(trial: str, condition: str, events: Sequence[Event], questions: Sequence[Question]) -> Known:
    last = next(event for event in reversed(events) if isinstance(event, ModelCall))
    wire = Completions()
    body = {
        "messages": [each for message in last.request.messages for each in wire.write_message(message)],
        **wire.write_tools(last.request),
    }
    mark = last.reply.response_id.removeprefix("chatcmpl-")
    s = situation_of(body, {q.name: q for q in questions}, mark)
    return Known(trial, s.question, condition, s, tuple(events))


def turned_at(known: Known) -> int | None:
    """The event at which the belief in the right answer falls for good; beliefs are those of an answer that is free."""
    s, events = known.situation, known.events
    places = [number for number, event in enumerate(events) if isinstance(event, ModelCall | ToolCall)]
    prefixes: list[tuple[int, tuple[Turn, ...]]] = []
    for number, turn in enumerate(s.turns):
        asked, called = places[2 * number], places[2 * number + 1 : 2 * number + 2]
        prefixes.append((asked, (*s.turns[:number], Turn(turn.mark))))
        prefixes += [(event, s.turns[: number + 1]) for event in called if turn.seen]
    beliefs = [belief(replace(s, turns=(), mark=s.marks[0], forced=""))]
    for _, turns in prefixes:
        beliefs.append(belief(replace(s, turns=turns, mark=s.marks[len(turns)], forced="")))
    place = turning_place(beliefs)
    return None if place is None else prefixes[place - 1][0]


def oracle_of(s: Situation) -> str:
    """The label that is most likely where the answer is wrong."""
    tried = (replace(s, chance=(number + 0.5) / _GRID) for number in range(_GRID))
    likely = Counter(LABELS[truth_of(each).label] for each in tried if not scores(each))
    return max(likely, key=lambda label: (likely[label], label))


# All figures of a store.


def figures_of(
    store: Path, questions: Sequence[Question], found: Mapping[str, Any], *, asked: int | None, toolset: str, seed: int
) -> dict[str, Any]:
    known = _known_trials(store, questions, found)
    disagreeing = sum(known[row["trial"]].wrong != (row["value"] < 1) for row in found["trials"])
    verdicts = {method: _verdicts(found, known, method) for method in METHODS}
    wrong = sum(row["value"] < 1 for row in found["trials"])
    decomposed = _decomposed(found, known, questions, toolset)
    return {
        "trials": len(found["trials"]),
        "wrong": wrong,
        "not_as_the_graph": disagreeing,
        "figures": _figures(verdicts, seed)
        + _share_figures(decomposed, "replay" if found["design"] else "trace", seed)
        + _cost(asked, known, seed),
        "causes": {method: _causes(each) for method, each in verdicts.items() if each},
        "confusion": {method: _confusion(each) for method, each in verdicts.items() if each},
        "shares": decomposed,
        "alone": {q.id: {"kind": q.kind, **_alone(q)} for q in questions if q.causes},
    }


def _known_trials(store: Path, questions: Sequence[Question], found: Mapping[str, Any]) -> dict[str, Known]:
    with Store(store) as opened:
        return {
            row["trial"]: known_trial(row["trial"], row["condition"], opened.conversation(row["trial"]), questions)
            for row in found["trials"]
            if row["value"] is not None
        }


def _verdicts(found: Mapping[str, Any], known: Mapping[str, Known], method: str) -> list[Verdict]:
    """Of all wrong trials that the method looked at."""
    verdicts = []
    for row in found["trials"]:
        trial = known.get(row["trial"])
        if trial is None or not trial.wrong or (method == "replay" and not row["replayed"]):
            continue
        given = (row["attribution"], *row["hypotheses"])
        said = next((each for each in given if each and each["method"] == method), None)
        steps, turned = belief_steps(trial.events), turned_at(trial)
        verdicts.append(
            Verdict(
                question=trial.question.id,
                truth=truth_of(trial.situation),
                oracle=oracle_of(trial.situation),
                said=None if said is None or said["mechanism"] == "unknown" else said["mechanism"],
                confidence=said["confidence"] if said else 0.0,
                true_step=_step(steps, turned),
                said_step=_step(steps, said["turned_at"]) if said else None,
            )
        )
    return verdicts


def _step(steps: Sequence[int], event: int | None) -> int | None:
    """The first step after an event."""
    return None if event is None else min(bisect_right(steps, event), len(steps) - 1)


# Figures over verdicts.


def at_best(verdicts: Sequence[Verdict]) -> float | None:
    pairs = []
    for each in verdicts:
        names = right_names(each.truth)
        pairs.append((each.oracle if each.oracle in names else LABELS[each.truth.label], each.oracle))
    return macro_f1(pairs)


def calibration_error(verdicts: Sequence[Verdict]) -> float | None:
    """Expected calibration error in ten bins of equal width."""
    named = [each for each in verdicts if each.said]
    return _off([v.confidence for v in named], [[v.right for v in named]])


def chance_calibration_error(verdicts: Sequence[Verdict]) -> float | None:
    """The same, on average, where each is right exactly as often as its confidence says: so few do not tell less."""
    sure = [each.confidence for each in verdicts if each.said]
    return _off(sure, np.random.default_rng(0).random((_CHANCES, len(sure))) < sure)


def _off(sure: Sequence[float], right: Any) -> float | None:
    """Of confidences, the mean calibration error over draws of what is right, draws x verdicts."""
    if not sure:
        return None
    bins = np.minimum((10 * np.array(sure)).astype(int), 9)
    off = np.array(sure) - np.array(right, dtype=float)
    return float(np.abs(off @ (bins[:, None] == np.arange(10))).sum(axis=1).mean() / len(sure))


def _share(hits: Iterable[bool]) -> float | None:
    given = list(hits)
    return sum(given) / len(given) if given else None


_OF_VERDICTS: dict[str, Callable[[Sequence[Verdict]], float | None]] = {
    "macro-F1 over causes": lambda vs: macro_f1([(v.label, v.said) for v in vs]),
    "macro-F1 at best attainable": at_best,
    "cause right": lambda vs: _share(v.right for v in vs),
    "step exact": lambda vs: _share(v.said_step == v.true_step for v in vs if v.true_step is not None),
    "cause and step": lambda vs: _share(v.right and v.said_step == v.true_step for v in vs if v.true_step is not None),
    "a step where none is": lambda vs: _share(v.said_step is not None for v in vs if v.true_step is None),
    "calibration error (ECE)": calibration_error,
    "calibration error by chance": chance_calibration_error,
    "sampling noise blamed on tools": lambda vs: _share(
        v.said is not None and v.said not in _NOISE for v in vs if LABELS[v.truth.label] == "sampling_noise"
    ),
    "pure sampling noise blamed on tools": lambda vs: _share(
        v.said is not None and v.said not in _NOISE
        for v in vs
        if v.truth.pure and LABELS[v.truth.label] == "sampling_noise"
    ),
}


def _figures(verdicts: Mapping[str, Sequence[Verdict]], seed: int) -> list[dict[str, Any]]:
    return [
        {"what": what, **{method: _bootstrapped(own, of, seed) for method, own in verdicts.items() if own}}
        for what, of in _OF_VERDICTS.items()
    ]


def _bootstrapped(
    verdicts: Sequence[Verdict], of: Callable[[Sequence[Verdict]], float | None], seed: int
) -> list[float | None]:
    """The figure and its 90 % interval over questions."""
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for each in verdicts:
        groups[each.question].append(each)
    return [of(verdicts), *_interval(list(groups.values()), lambda some: of([v for own in some for v in own]), seed)]


def _interval(
    groups: Sequence[Any], of: Callable[[Sequence[Any]], float | None], seed: int
) -> tuple[float | None, float | None]:
    rng = random.Random(seed)
    drawn = [of(rng.choices(groups, k=len(groups))) for _ in range(_RESAMPLES)] if groups else []
    values = sorted(each for each in drawn if each is not None)
    if not values:
        return None, None
    return values[int(0.05 * len(values))], values[min(int(0.95 * len(values)), len(values) - 1)]


# Shares: the terms of the decomposition against the graph's.


def _decomposed(
    found: Mapping[str, Any], known: Mapping[str, Known], questions: Sequence[Question], toolset: str
) -> list[dict[str, Any]]:
    """By condition and term, points that were found and that are true: given the draws, and in expectation."""
    rows = []
    for each in found["decompositions"]:
        arm = "real" if each["condition"] == toolset else "flaky"
        wanted = {q.id: _named(shares(q, ARMS[arm]), each["terms"]) for q in questions}
        own = [trial for trial in known.values() if trial.condition == each["condition"]]
        given = {
            trial.trial: {**wanted[trial.question.id], **_named(_drawn(trial.situation), each["terms"])}
            for trial in own
        }
        for term in (each["effect"], *each["terms"]):
            name = term["name"]
            if name == "unresolved":
                continue
            rows.append(
                {
                    "condition": each["condition"],
                    "term": name,
                    "found": term["points"],
                    "realised": _mean_points(by.get(name, 0.0) for by in given.values()),
                    "expected": _mean_points(by.get(name, 0.0) for by in wanted.values()),
                    "ci90": term["ci90"],
                }
            )
    return rows


def _mean_points(values: Iterable[float]) -> float:
    given = list(values)
    return 100 * sum(given) / len(given) if given else 0.0


def _named(terms: Mapping[str, float], found: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Volume is a part of `use` where it has no term of its own."""
    named = dict(terms)
    if "volume" in named and all(term["name"] != "volume" for term in found):
        named["use"] = named.pop("volume")
    return named


def _drawn(s: Situation) -> dict[str, float]:
    lost = frozenset({"budget", "tool_fault", "format"})
    return drawn_terms(s, (expected(s.question, ARMS["real"], lost), expected(s.question, ARMS["none"])))


def drawn_terms(s: Situation, reached: tuple[float, float]) -> dict[str, float]:
    """The terms that are of the trial's own draws. `reached` are the chances with real results and nothing lost, and
    without tools."""
    lost = frozenset({"budget", "tool_fault"})
    levels = [scores(s), is_right(s), is_right(s, frozenset({"budget"})), is_right(s, lost)]
    names = ("format", "budget", "tool_fault")
    terms = {name: float(levels[place]) - levels[place + 1] for place, name in enumerate(names)}
    terms["sampling_noise"] = levels[-1] - reached[0]
    terms["effect"] = levels[0] - reached[1]
    return terms


def _share_figures(rows: Sequence[Mapping[str, Any]], method: str, seed: int) -> list[dict[str, Any]]:
    terms = [row for row in rows if row["term"] != "effect"]
    figures = []
    for kind in ("realised", "expected"):
        off = [abs(row["found"] - row[kind]) for row in terms if abs(row["found"]) > 0.05 or abs(row[kind]) > 0.05]
        own = _mean(off)
        figures.append({"what": f"share error, points ({kind})", method: [own, *_interval(off, _mean, seed)]})
    held = [row["ci90"][0] <= row["expected"] <= row["ci90"][1] for row in rows if row["ci90"]]
    figures.append(
        {
            "what": f"coverage of 90 % intervals, {len(held)} rows",
            method: [_mean(held), *_interval(held, _mean, seed)],
        }
    )
    return figures


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _cost(asked: int | None, known: Mapping[str, Known], seed: int) -> list[dict[str, Any]]:
    """The requests are not told apart by question; their number is taken as it is."""
    if asked is None:
        return []
    wrong: dict[str, int] = defaultdict(int)
    for trial in known.values():
        wrong[trial.question.id] += trial.wrong
    each, total = list(wrong.values()), sum(wrong.values())
    low, high = _interval(each, lambda some: asked * len(some) / len(each) / max(sum(some), 1), seed)
    return [{"what": "requests per wrong trial", "replay": [asked / total if total else None, low, high]}]


def _alone(q: Question) -> dict[str, float]:
    """What the score of each cause's removal alone gains, in points."""
    here = expected(q, ARMS["real"], NOTHING)
    return {cause: 100 * (here - expected(q, ARMS["real"], frozenset({cause}))) for cause in q.causes}


# Tables.


def _causes(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    by_cause: dict[str, list[Verdict]] = defaultdict(list)
    for each in verdicts:
        by_cause[each.truth.label].append(each)
    return [
        {
            "cause": cause,
            "label": LABELS[cause],
            "trials": len(own),
            "right": sum(v.right for v in own),
            "said_instead": dict(Counter(v.said or "nothing" for v in own if not v.right).most_common()),
        }
        for cause, own in sorted(by_cause.items(), key=lambda item: -len(item[1]))
    ]


def _confusion(verdicts: Sequence[Verdict]) -> dict[str, dict[str, int]]:
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for each in verdicts:
        table[each.label][each.said or "nothing"] += 1
    return {true: dict(said) for true, said in sorted(table.items())}


def tables_of(figures: Mapping[str, Any]) -> list[TableOf]:
    title = f"{figures['trials']} trials with tools, {figures['wrong']} wrong; figure [90 % interval over questions]"
    if figures["not_as_the_graph"]:
        title += f"; {figures['not_as_the_graph']} ARE NOT AS THE GRAPH HAS THEM"
    lines = [(row["what"], *(_written(row.get(method)) for method in METHODS)) for row in figures["figures"]]
    tables: list[TableOf] = [(title, ("", *METHODS), lines)]
    for method, causes in figures["causes"].items():
        rows = [
            (
                row["cause"],
                row["label"],
                f"{row['right']} of {row['trials']}",
                ", ".join(f"{name} {count}" for name, count in row["said_instead"].items()),
            )
            for row in causes
        ]
        tables.append((f"by {method}: recall", ("cause", "label", "right", "said instead"), rows))
    for method, table in figures["confusion"].items():
        names = sorted({name for said in table.values() for name in said} | set(table))
        rows = [(true, *(str(said.get(name, "")) for name in names)) for true, said in table.items()]
        tables.append((f"by {method}: confusion, true label by row", ("", *names), rows))
    shares_rows = [
        (row["condition"], row["term"], *(f"{row[key]:.1f}" for key in ("found", "realised", "expected")), _ci(row))
        for row in figures["shares"]
    ]
    columns = ("condition", "term", "found", "true here", "true in expectation", "90 % interval")
    return [*tables, ("shares of the effect, in points", columns, shares_rows)]


def _ci(row: Mapping[str, Any]) -> str:
    return f"[{row['ci90'][0]:.1f}, {row['ci90'][1]:.1f}]" if row["ci90"] else ""


def _written(figure: Sequence[float | None] | None) -> str:
    if not figure or figure[0] is None:
        return ""
    return f"{figure[0]:.3f}" + (f" [{figure[1]:.3f}, {figure[2]:.3f}]" if figure[1] is not None else "")
