"""How many wrong trials are put down to what, for pages and reports."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.naming import mechanism_name
from toolablate.analysis.findings import Findings, PutDown
from toolablate.reports.terminal.attribution.wording import AS_WITHOUT
from toolablate.traces.records import Mechanism, Method

METHODS: Mapping[Method, str] = {"replay": "By replay", "trace": "By trace", "judge": "By judge"}
BY_TRACE = (
    "By trace is a first guess, by rules over what a trial did: a hypothesis, which nothing has measured. Luck: no more"
    " than would have been wrong without tools as well. Not known: what is beyond it and shows no sign in the trace."
)
MEASURED_BY = "toolablate attribute STORE --replay"


@dataclass(frozen=True, slots=True)
class Counted:
    """The wrong trials of one model and condition that are put down to one mechanism: all, and by each method."""

    model: str
    condition: str
    mechanism: Mechanism
    name: str
    trials: int
    by: Mapping[Method, int]


def counted(findings: Findings) -> list[Counted]:
    """By model and condition, as the store has them; of each the mechanism of most trials first."""
    of: dict[tuple[str, str, Mechanism], list[PutDown]] = {}
    for each in () if findings.why is None else findings.why.put_down:
        of.setdefault((each.model, each.condition, each.mechanism), []).append(each)
    found = [_counted(own) for own in of.values()]
    models, conditions = (
        {name: place for place, name in enumerate(names)} for names in (findings.models, findings.conditions)
    )
    return sorted(
        found,
        key=lambda row: (
            *(models.get(row.model, len(models)), conditions.get(row.condition, len(conditions))),
            *(-row.trials, row.mechanism),
        ),
    )


def methods_of(rows: Sequence[Counted]) -> list[Method]:
    return [method for method in METHODS if any(row.by.get(method) for row in rows)]


def how_alone(methods: Sequence[Method]) -> str:
    """Where all are put down by one method: by which."""
    if len(methods) != 1:
        return ""
    guessed = " (first guesses)" if methods[0] == "trace" else ""
    return f", {METHODS[methods[0]].lower()}{guessed}"


def how_known(findings: Findings, rows: Sequence[Counted]) -> Iterator[str]:
    """What the counts are worth; the command that measures them stands behind these sentences."""
    yield "Each wrong trial is put down to one mechanism."
    if "trace" in methods_of(rows):
        yield BY_TRACE
        if findings.imported:
            yield "Trials of others' logs cannot be replayed: their models cannot be asked again."


def measured_by(findings: Findings, rows: Sequence[Counted]) -> str:
    """The command that replays what is put down by trace; "" where nothing is, or it cannot be."""
    return MEASURED_BY if "trace" in methods_of(rows) and not findings.imported else ""


def _counted(own: list[PutDown]) -> Counted:
    first, by = own[0], {each.method: each.trials for each in own}
    name = mechanism_name(first.mechanism)
    if first.mechanism == "luck" and "trace" in by:
        name = AS_WITHOUT
    return Counted(first.model, first.condition, first.mechanism, name, sum(by.values()), by)
