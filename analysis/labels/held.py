"""What people hold for the causes of failures: labels that count, what is settled, what is still to be decided."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from toolablate.traces.records import MECHANISM_BOOK, Label, Mechanism, Method


@dataclass(frozen=True, slots=True)
class Held:
    """The last label by one codebook that a person gave a trial and did not withdraw.

    question    what the trial is about, as a table names it
    unit        trials of one unit are not independent: its question, or the cluster of that
    mechanism,  what is attributed to the trial now, and how that is known; None where nothing is
      method
    domain      of the question
    """

    label: Label
    question: str
    unit: str
    mechanism: Mechanism | None
    method: Method | None
    domain: str = ""

    @property
    def agrees(self) -> bool | None:
        """With the attribution of now, in the mechanism; None where there is none, or the label is of other codes."""
        if self.mechanism is None or self.label.mechanism is None:
            return None
        return self.label.mechanism == self.mechanism

    @property
    def changed(self) -> bool:
        """Whether another mechanism is attributed now than when the person read the trial; of what was not known then
        nothing changed."""
        return self.label.attributed not in (None, self.mechanism)


@dataclass(frozen=True, slots=True)
class AttributedCause:
    """What is known of a labelled trial: see Held."""

    question: str
    unit: str
    mechanism: Mechanism | None = None
    method: Method | None = None
    domain: str = ""


def held(labels: Iterable[Label], of: Callable[[str], AttributedCause]) -> tuple[Held, ...]:
    """Of labels in the order in which they were given, those that count, in the order of the last word of each person
    on each trial by each codebook; what decides between labels stands beside a person's own. `of` says what is known of
    a trial by its id."""
    last: dict[tuple[str, str, str, bool], Label] = {}
    for label in labels:
        key = (label.trial, label.person, label.book, label.adjudicated)
        last.pop(key, None)
        last[key] = label
    standing = [label for label in last.values() if label.said]
    known = {trial: of(trial) for trial in dict.fromkeys(label.trial for label in standing)}
    return tuple(
        Held(label, about.question, about.unit, about.mechanism, about.method, about.domain)
        for label in standing
        for about in (known[label.trial],)
    )


# What is settled of a trial, and what people still have to decide.


@dataclass(frozen=True, slots=True)
class Decided:
    """What people hold of a trial together: `said` was decided where they differed (`adjudicated`), or two or more of
    them say it and nobody says anything else. `blind` tells that the attribution was hidden from all of them; `weight`
    is how many wrong trials it stands for, 1 where it was not drawn by chance. `unit`, `mechanism` and `method` are as
    in `Held`."""

    trial: str
    book: str
    said: tuple[str, ...]
    adjudicated: bool
    blind: bool
    weight: float
    unit: str
    mechanism: Mechanism | None
    method: Method | None


def decided(found: Iterable[Held]) -> tuple[Decided, ...]:
    """In the order of trials."""
    return tuple(one for own in _by_trial(found) if (one := _decided(own)) is not None)


def disputed(found: Iterable[Held], book: str = MECHANISM_BOOK) -> tuple[tuple[Held, ...], ...]:
    """The independent labels of each trial on which people differ and nobody has decided, in the order of trials."""
    return tuple(
        tuple(own)
        for own in _by_trial(found)
        if own[0].label.book == book and len({each.label.said for each in own}) > 1
        if not any(each.label.adjudicated for each in own)
    )


def _by_trial(found: Iterable[Held]) -> Iterator[list[Held]]:
    groups: dict[tuple[str, str], list[Held]] = defaultdict(list)
    for each in found:
        groups[each.label.trial, each.label.book].append(each)
    for key in sorted(groups):
        yield groups[key]


def _decided(own: Sequence[Held]) -> Decided | None:
    deciding = [each for each in own if each.label.adjudicated][-1:]
    counting = deciding or (own if len(own) > 1 and len({each.label.said for each in own}) == 1 else [])
    if not counting:
        return None
    one = counting[-1]
    chances = [each.label.inclusion_probability for each in own if each.label.inclusion_probability]
    return Decided(
        trial=one.label.trial,
        book=one.label.book,
        said=one.label.said,
        adjudicated=bool(deciding),
        blind=all(each.label.blind for each in counting),
        weight=1 / chances[0] if chances else 1.0,
        unit=one.unit,
        mechanism=one.mechanism,
        method=one.method,
    )
