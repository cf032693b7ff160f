"""Everything that a store says of why its tools changed scores, as a record, JSON and CSV."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any

from toolablate.analysis.attribution.change_rates import ChangeRates
from toolablate.analysis.attribution.decomposition import Account, Decomposition, Replay, points
from toolablate.analysis.attribution.evidence import EvidenceOutline, Explained, Outlined
from toolablate.analysis.attribution.identified import DesignReach
from toolablate.analysis.attribution.judge_labels import ErrorTypes, JudgedDistraction
from toolablate.analysis.attribution.signals.signal_types import Form
from toolablate.analysis.calibration import Calibration
from toolablate.analysis.flips import Floor
from toolablate.analysis.spreadsheets import csv_text, ends
from toolablate.traces.records import Attribution, JudgeMatrix, Record, ReplayDesign

LEAST_CHARS = 400
"""Means that differ by fewer characters differ by nothing that fills a context."""

MOST_RATIO = 1.5
"""How many times as long as the other real results or placebos may be on average."""


@dataclass(frozen=True, slots=True)
class ResultLengths:
    """Of one model and condition and one form of result how long results are that models were shown, in characters on
    average: real ones, and placebos in their place, each over so many results."""

    model: str
    condition: str
    form: Form
    real: float
    placebo: float
    real_results: int
    placebo_results: int

    @property
    def ratio(self) -> float:
        return self.real / max(self.placebo, 1.0)

    @property
    def differs(self) -> bool:
        """Whether content is measured together with volume."""
        most, least = max(self.real, self.placebo), min(self.real, self.placebo)
        return most > MOST_RATIO * least and most - least >= LEAST_CHARS


FORM_NAMES: Mapping[Form, str] = {
    "search": "search results",
    "page": "pages",
    "code": "code output",
    "other": "other tools",
}


@dataclass(frozen=True, slots=True)
class AttributionReport:
    """Of trials under conditions with tools, beside those of the same questions without.

    design      by which trials are chosen to be replayed; None where nothing was
    decompositions     one for each model and condition
    floors      flips of each of these against the trials without tools, beside those of chance
    explained   the trials, each with what is made of it
    unreplayed  how many chosen trials still lack replays
    judged      how what was found drew models away, as judges read it
    errors      what kinds of errors judges see in wrong trials
    matrices    what these judges said of planted trials
    simulated   names of the models that are stand-ins and no measurement
    notes       what to know before reading the figures
    rates       how often what is taken away of a trial changes anything, before the store was seen and after; and what
                is lost by having to answer at once
    reach       what the store's design can tell apart
    lengths     of real results and of placebos, where models were shown placebos
    calibrations  of confidences by what people decided, by method, where anything is decided
    """

    design: ReplayDesign | None
    decompositions: tuple[Decomposition, ...]
    floors: tuple[Floor, ...]
    explained: tuple[Outlined, ...]
    unreplayed: int = 0
    judged: tuple[JudgedDistraction, ...] = ()
    errors: tuple[ErrorTypes, ...] = ()
    matrices: tuple[JudgeMatrix, ...] = ()
    simulated: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    rates: ChangeRates = field(default_factory=ChangeRates)
    reach: DesignReach = field(default_factory=DesignReach)
    lengths: tuple[ResultLengths, ...] = ()
    calibrations: tuple[Calibration, ...] = ()

    def floor(self, decomposition: Decomposition) -> Floor | None:
        return next((each for each in self.floors if _same(each, decomposition)), None)

    def trials(self, decomposition: Decomposition) -> tuple[Outlined, ...]:
        return tuple(each for each in self.explained if _same(each.evidence, decomposition))

    def lengths_of(self, decomposition: Decomposition) -> tuple[ResultLengths, ...]:
        return tuple(each for each in self.lengths if _same(each, decomposition))


def _same(one: Floor | EvidenceOutline | ResultLengths, decomposition: Decomposition) -> bool:
    return (one.model, one.condition) == (decomposition.model, decomposition.condition)


# What mechanisms are called where people read of them: one name each, of a trial and of an effect, in tables, figures,
# filters and pages alike.


_NAMES: Mapping[str, str] = {
    "computational_lock_in": "computational lock-in",
    "lock_in": "computational lock-in",
    "computation_misled": "other content of code",
    "other_results": "results of other tools",
    "format_loss": "format lost",
    "format": "format lost",
    "own_error": "the model's own error",
    "interaction": "interaction of tools",
    "unknown": "not known",
    "volume": "volume of results",
    "use": "tools' use",
}

ATTRIBUTED_AS: Mapping[str, str] = {
    "retrieval_distraction": "retrieval_distraction",
    "computational_lock_in": "lock_in",
    "computation_misled": "lock_in",
    "other_results": "other_results",
    "volume": "volume",
    "tool_fault": "tool_fault",
    "budget": "budget",
    "format_loss": "format",
    "availability": "availability",
    "calling": "calling",
    "prompt": "prompt",
    "sampling_noise": "sampling_noise",
}
"""Of the mechanisms of an effect, what single trials are attributed to; gains, and what is shared by all, have none. A
trial that code led astray is attributed to one cause, whose points stand under two names."""


def mechanism_name(name: str) -> str:
    """Of what a trial is attributed to, or of a term or mechanism of an effect."""
    return _NAMES.get(name, name.replace("_", " "))


# Attributions and decompositions as JSON and CSV.


def attribution_json(report: AttributionReport) -> str:
    """`{"design", "decompositions", "floors", "trials", "judged", "errors", "matrices", "unreplayed", "simulated",
    "notes", "rates", "forcing", "identified", "result_lengths", "calibrations"}`; what is unknown is null.

    `trials` has a line for each trial with what it is attributed to. Of the evidence it has the steps, the belief in
    the right answer after each, and where it fell; all of it is in `explained_json`.
    """
    content = {
        "design": _plain(report.design),
        "decompositions": [_decomposition(decomposition, report.simulated) for decomposition in report.decompositions],
        "floors": [asdict(floor) for floor in report.floors],
        "trials": [_trial(each) for each in report.explained],
        "judged": [asdict(each) for each in report.judged],
        "errors": [asdict(each) for each in report.errors],
        "matrices": [_plain(each) for each in report.matrices],
        "unreplayed": report.unreplayed,
        "simulated": sorted(report.simulated),
        "notes": list(report.notes),
        "rates": [
            {
                "removed": each.step[0],
                "where": each.step[1],
                "prior": each.prior,
                "fitted": each.rate,
                "seen": each.seen,
                "trials": each.trials,
            }
            for each in report.rates.store.values()
        ],
        "forcing": {model: asdict(each) for model, each in report.rates.forcing.items()},
        "identified": asdict(report.reach),
        "result_lengths": [asdict(each) | {"ratio": each.ratio} for each in report.lengths],
        "calibrations": [asdict(each) for each in report.calibrations],
    }
    return json.dumps(content, ensure_ascii=False, indent=2)


def explained_json(explained: Explained) -> str:
    """One trial with all of its evidence, by the names of the records. `rollouts` is a list of `{"swapped", "scores"}`,
    and so is all else that is kept by anything but a text."""
    return json.dumps(_plain(explained), ensure_ascii=False, indent=2)


def decompositions_csv(decompositions: Iterable[Decomposition], simulated: Iterable[str] = ()) -> str:
    """A line for the effect (`kind` effect), and for each term and each mechanism of it, in percentage points; what is
    unknown is empty."""
    return csv_text(_COLUMNS, decomposition_rows(decompositions, simulated))


def decomposition_rows(
    decompositions: Iterable[Decomposition], simulated: Iterable[str] = ()
) -> Iterator[dict[str, Any]]:
    """The lines of `decompositions_csv`."""
    names = frozenset(simulated)
    return ({name: line.get(name) for name in _COLUMNS} for each in decompositions for line in _lines(each, names))


def _decomposition(decomposition: Decomposition, simulated: Collection[str]) -> dict[str, Any]:
    told = asdict(decomposition) | {"simulated": decomposition.model in simulated}
    for each in told["mechanisms"]:
        each["attributed_as"] = ATTRIBUTED_AS.get(each["name"])
    return told


_COLUMNS = (
    *("model", "simulated", "condition", "kind", "name", "points", "ci90_low", "ci90_high", "ci95_low", "ci95_high"),
    *("small", "p_value", "p_holm", "questions", "clusters", "trials", "replayed"),
)


def _lines(decomposition: Decomposition, simulated: frozenset[str]) -> Iterator[dict[str, Any]]:
    of = {
        name: getattr(decomposition, name)
        for name in ("model", "condition", "questions", "clusters", "trials", "replayed")
    }
    of["simulated"] = decomposition.model in simulated
    yield of | {"kind": "effect"} | _account(decomposition.effect)
    yield from (of | {"kind": "term"} | _account(each) for each in decomposition.terms)
    yield from (of | {"kind": "mechanism"} | _account(each) for each in decomposition.mechanisms)


def _account(account: Account) -> dict[str, Any]:
    told = asdict(account)
    intervals = ends("ci90", told.pop("ci90")) | ends("ci95", told.pop("ci95"))
    return told | intervals


def _trial(explained: Outlined) -> dict[str, Any]:
    evidence = explained.evidence
    return {
        "trial": evidence.inputs.trial,
        "model": evidence.model,
        "condition": evidence.condition,
        "question": evidence.question,
        "domain": evidence.domain,
        "value": evidence.score.value,
        "verdict": evidence.score.verdict,
        "replayed": evidence.inputs.replay is not None,
        "inclusion_probability": evidence.inputs.inclusion_probability,
        "terms": points(evidence.inputs),
        "attribution": _attribution(explained.attribution),
        "hypotheses": [_attribution(each) for each in explained.hypotheses],
        "diagnoses": [
            each.model_dump(mode="json", exclude={"version", "trial", "calls"}) for each in evidence.diagnoses
        ],
        "belief": _belief(evidence),
        "flip": _plain(evidence.flip),
    }


def _attribution(attribution: Attribution | None) -> dict[str, Any] | None:
    if attribution is None:
        return None
    return attribution.model_dump(mode="json", exclude={"version", "trial"})


def _belief(evidence: EvidenceOutline) -> list[dict[str, Any]]:
    beliefs = evidence.trajectory.beliefs if evidence.trajectory else ()
    return [
        {"step": each.step, "event": event_of(evidence, each.step), "samples": each.samples, "right": each.right.mean}
        for each in beliefs
    ]


def event_of(evidence: EvidenceOutline, step: int) -> int | None:
    """The event before which a step of the trajectory was probed."""
    return evidence.steps[step] if step < len(evidence.steps) else None


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, Record):
        return value.model_dump(mode="json")
    if isinstance(value, Replay):
        rollouts = [{"swapped": sorted(swapped), "scores": scores} for swapped, scores in value.rollouts.items()]
        return {
            "extended": value.extended,
            "repaired": value.repaired,
            "rollouts": rollouts,
            "short": value.short,
            "last_reply": value.last_reply,
            "signals": sorted(value.signals),
        }
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
