"""Findings of a store in one go, which the viewer and the report make step by step."""

from pathlib import Path

from toolablate.analysis.findings import Findings
from toolablate.experiments.attribution.store_report import read_report
from toolablate.traces.store import Store
from toolablate.viewer.keeping.shown_trials import findings_of, read_trials, with_why


def read_findings(
    store: Path,
    *,
    run: str = "latest",
    scorer: str | None = None,
    baseline: str | None = None,
    seed: int = 0,
    why: bool = True,
) -> Findings:
    """Of the trials that one run called for (`latest`, or the beginning of its id), or of `all` that the store holds.

    Where nothing can be compared yet there is what there is, and a note says what is missing. `why` may take minutes on
    a large store, the rest seconds. Raises InputError for a run, a scorer or a baseline that is not there, and
    StoreError.
    """
    with Store(store) as opened:
        trials = read_trials(opened, run=run, scorer=scorer, baseline=baseline)
        found = findings_of(trials, opened.conditions_of(trials.summaries), seed=seed)
    if not why or not trials.summaries:
        return found
    return with_why(found, read_report(store, run=run, scorer=trials.scorer))
