import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from toolablate.traces.analysis.misses import MissDifference, MissRate


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition against its baseline, for one model, paired over questions.

    questions           questions that count: those with a scored trial on both sides; all figures below but the
                        counts of trials rest on these alone
    clusters            independent units that the interval and the p-value rest on: questions that share a cluster are
                        one, so there are as many as questions where none do
    excluded_questions  questions that were asked on either side and do not count, for want of a score on one
    baseline_score,     percent: the mean over questions of each question's mean over its repeats
      score
    delta_points        score - baseline_score, in percentage points
    delta_relative      the same in percent of baseline_score; None where that is 0
    ci95                95 % interval of delta_points; None where the data cannot tell (fewer than two independent
                        questions, or no question differs from another)
    p_value             two-sided sign-flip test of delta = 0
    right_to_wrong,     questions whose correctness differs; with repeats a question is right where its mean score is
      wrong_to_right    at least 0.5
    trials              trials that ended; of these `failed` by infrastructure (out of all figures), `unscored` (out of
                        all figures) and `unparsed` (no answer could be extracted: counted as 0 unless excluded)
    budget              trials that a limit ended: `limits` says how many ran into which, where that is known. They have
                        been asked for their answer, and are scored like any other
    tokens, cost_usd    mean per trial that counts and of which it is known; None where it is of none, never 0 for
                        unknown
    unpriced            trials that count and whose cost is unknown

    `by` and `group` are None for all questions together; else `by` says what they are grouped by (`domain`,
    `difficulty` or `language`) and `group` which of these it is (empty where questions do not say). `simulated` tells
    that the model is a stand-in, not a measurement.
    """

    model: str
    baseline: str
    condition: str
    by: str | None
    group: str | None
    simulated: bool
    questions: int
    clusters: int
    excluded_questions: int
    baseline_score: float | None
    score: float | None
    delta_points: float | None
    delta_relative: float | None
    ci95: tuple[float, float] | None
    p_value: float | None
    right_to_wrong: int
    wrong_to_right: int
    repeats: int
    baseline_trials: int
    trials: int
    baseline_failed: int
    failed: int
    baseline_unscored: int
    unscored: int
    baseline_unparsed: int
    unparsed: int
    baseline_budget: int
    budget: int
    baseline_limits: dict[str, int]
    limits: dict[str, int]
    baseline_tokens: float | None
    tokens: float | None
    baseline_cost_usd: float | None
    cost_usd: float | None
    baseline_unpriced: int
    unpriced: int


def comparisons_json(
    comparisons: Iterable[Comparison], rates: Iterable[MissRate] = (), differences: Iterable[MissDifference] = ()
) -> str:
    """`{"comparisons": [...], "misses": {"rates": [...], "differences": [...]}}` with the fields of the records; what
    is unknown is null."""
    content = {
        "comparisons": [asdict(row) for row in comparisons],
        "misses": {"rates": [asdict(row) for row in rates], "differences": [asdict(row) for row in differences]},
    }
    return json.dumps(content, ensure_ascii=False, indent=2)


def comparisons_csv(comparisons: Sequence[Comparison]) -> str:
    """The same as CSV with a header; the interval is in two columns, what is unknown is empty, limits are one
    column of the form `turns:3 seconds:1`."""
    out = io.StringIO()
    names = [name for field in Comparison.__dataclass_fields__ for name in _columns(field)]
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_flat(row) for row in comparisons)
    return out.getvalue()


def _columns(field: str) -> tuple[str, ...]:
    return ("ci95_low", "ci95_high") if field == "ci95" else (field,)


def _flat(row: Comparison) -> dict[str, Any]:
    values = asdict(row)
    low, high = values.pop("ci95") or (None, None)
    for name in ("baseline_limits", "limits"):
        values[name] = " ".join(f"{limit}:{count}" for limit, count in values[name].items())
    return {**{name: _inert(value) for name, value in values.items()}, "ci95_low": low, "ci95_high": high}


def _inert(value: Any) -> Any:
    # A spreadsheet would run a name that begins like this as a formula.
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
