"""What people hold for the causes of trials, beside what is attributed to them now."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from toolablate.traces.records import Label, Mechanism, Method


@dataclass(frozen=True, slots=True)
class Held:
    """The last label that a person gave a trial and did not withdraw.

    question    what the trial is about, as a table names it
    unit        trials of one unit are not independent: its question, or the cluster of that
    mechanism,  what is attributed to the trial now, and how that is known; None where nothing is
      method
    """

    label: Label
    question: str
    unit: str
    mechanism: Mechanism | None
    method: Method | None

    @property
    def agrees(self) -> bool | None:
        """With the attribution of now, in the mechanism; None where there is none."""
        return None if self.mechanism is None else self.label.mechanism == self.mechanism

    @property
    def changed(self) -> bool:
        """Whether another mechanism is attributed now than when the person read the trial; of what was not known then
        nothing changed."""
        return self.label.attributed not in (None, self.mechanism)


@dataclass(frozen=True, slots=True)
class Attributed:
    """What is known of a labelled trial: see Held."""

    question: str
    unit: str
    mechanism: Mechanism | None = None
    method: Method | None = None


def held(labels: Iterable[Label], of: Callable[[str], Attributed]) -> tuple[Held, ...]:
    """Of labels in the order in which they were given, those that count, in the order of the last word of each person
    on each trial. `of` says what is known of a trial by its id."""
    last: dict[tuple[str, str], Label] = {}
    for label in labels:
        last.pop((label.trial, label.person), None)
        last[label.trial, label.person] = label
    standing = [label for label in last.values() if label.mechanism is not None]
    known = {trial: of(trial) for trial in dict.fromkeys(label.trial for label in standing)}
    return tuple(
        Held(label, about.question, about.unit, about.mechanism, about.method)
        for label in standing
        for about in (known[label.trial],)
    )
