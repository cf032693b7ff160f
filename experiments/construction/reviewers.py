"""Who reviews, and what each has done: decisions have an alias; the name behind it stays in a file beside the
workbench, on this machine."""

import statistics
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, Literal

from pydantic import StringConstraints, ValidationError

from toolablate.experiments.construction.known_names import NamesAndTexts, names_of
from toolablate.experiments.construction.personal_data import personal_data_in
from toolablate.experiments.construction.workbench import Alias, Decision, as_seen, person_key
from toolablate.experiments.record_file import RecordFile
from toolablate.traces.database import beside
from toolablate.traces.errors import InputError
from toolablate.traces.records import Record, clean_text

Short = Annotated[str, StringConstraints(max_length=200, strip_whitespace=True)]


Institution = Literal["", "university", "research institute", "company", "public body", "other"]
"""The group of one. It is no free text: that could be a name."""


class Reviewer(Record):
    """`alias` stands in decisions and, with `field` and `degree` of expertise, in what is published; `name` nowhere
    else. How many are of which `institution` is published, and of no one which."""

    alias: Alias
    name: Short = ""
    field: Short = ""
    degree: Short = ""
    institution: Institution = ""


class Reviewers:
    """In lines that are only added, by any number of processes in turn; of several on one alias the last counts."""

    def __init__(self, workbench: Path) -> None:
        self.path = beside(workbench, "-reviewers.jsonl")

    def known(self) -> dict[str, Reviewer]:
        """By the alias's key (`person_key`). A line that is none is passed over."""
        return {_key(each): each for _, each in self._lines() if each is not None}

    def damaged(self) -> str:
        """Which lines cannot be read, and what to do; "" where all can. The end of the last one is mended by itself."""
        lines = [number for number, each in self._lines() if each is None]
        if not lines or self._is_torn_alone(lines):
            return ""
        named = f"{'Line' if len(lines) == 1 else 'Lines'} {', '.join(map(str, lines))} of {self.path}"
        return f"{named} cannot be read: who stands there is not known here. Mend or delete what is damaged."

    def _is_torn_alone(self, damaged: Sequence[int]) -> bool:
        content = self.path.read_bytes()
        return not content.endswith(b"\n") and damaged == [len(content.splitlines())]

    def _lines(self) -> Iterator[tuple[int, Reviewer | None]]:
        """Of each line its number, from 1, and whom it names."""
        try:
            lines = self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror}", code="unreadable") from None
        for number, line in enumerate(lines, start=1):
            yield number, _reviewer(line)

    def enter(
        self,
        alias: str,
        name: str,
        field: str,
        degree: str = "",
        institution: str = "",
        *,
        decided: Collection[str] = (),
    ) -> Reviewer:
        """A new one; without an alias R1, R2 and so on, and none of those that have `decided`, be it from a file, or
        proposed something. Raises InputError for an alias or a name that somebody has, an alias that has a name, and
        for what is none; StoreError where it cannot be kept."""
        if not (alias.strip() or name.strip()):
            raise InputError("Say an alias, a name or both.", code="reviewer")
        with self._held() as file:
            known = file.found
            taken = {person_key(each): each for each in decided}
            given = as_seen(clean_text(alias)) or _free({*known, *taken})
            _require_no_names(given, name, field, degree)
            if person_key(given) in known:
                raise InputError(
                    f"Somebody has the alias {given} already.", hint="Choose it above if it is you.", code="reviewer"
                )
            # One person with two aliases would be two people per item.
            same = next((each for each in known.values() if _called(each) == person_key(name or alias)), None)
            if same := same or _named(given, known):
                raise InputError(
                    f"{same.name or same.alias} is {same.alias}: choose {same.alias} if this is you,"
                    " or add something that tells you apart.",
                    code="reviewer",
                )
            if told := next((each for key, each in taken.items() if key not in known and has_name(each, name)), ""):
                raise InputError(
                    f"{told} has decided or proposed something here: enter this as alias, without a name, if it is you,"
                    " or add something to the name that tells you apart.",
                    code="reviewer",
                )
            try:
                about = {"field": clean_text(field), "degree": clean_text(degree), "institution": institution}
                made = Reviewer.model_validate({"alias": given, "name": clean_text(name), **about})
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                raise InputError(f"{first['loc'][0]}: {first['msg']}", code="reviewer") from None
            file.append(made)
        return made

    def _held(self) -> "_ReviewerFile":
        """From looking for a free alias until it is kept: two who come at once would be given the same one. For nobody
        else to read: it has names."""
        head = b'{"alias":'
        return _ReviewerFile(self.path, Reviewer, _key, head=head, what="reviewer", latest=True, wait=True, mode=0o600)


class _ReviewerFile(RecordFile[Reviewer]):
    """One damaged line keeps nobody else from reviewing (`Reviewers.damaged` names it)."""

    def _read(self, lines: Sequence[bytes]) -> None:
        for each in filter(None, map(_reviewer, lines)):
            self._keep(each)


def _reviewer(line: bytes) -> Reviewer | None:
    try:
        return Reviewer.from_json(line)
    except ValidationError:
        return None


def _require_no_names(alias: str, name: str, field: str, degree: str) -> None:
    """In what is published of a person."""
    if has_name(alias, name):
        raise InputError("The alias is published, and this is your name: choose another, or none.", code="reviewer")
    for each in (alias, field, degree):
        if found := personal_data_in(each):
            raise InputError(f"Leave out {found[0]!r}: alias, field and degree are published.", code="reviewer")


def has_name(alias: str, name: str) -> bool:
    """Whether it is the name, or has it: in another order, with an initial, as a handle or with other letters. One part
    of a longer name, such as a first name, is none."""
    words = name.title().split()
    if not words or person_key(alias) == person_key(name):
        return bool(words)
    whole = " ".join(words)
    known = names_of(NamesAndTexts((whole, " ".join(reversed(words))), "", (), ""))
    found = known.left_in(as_seen(alias).replace("_", " "))
    return len(found) > 1 or any(" " in each or person_key(each) == person_key(whole) for each in found)


def _named(alias: str, known: Mapping[str, Reviewer]) -> Reviewer | None:
    return next((each for each in known.values() if has_name(alias, each.name)), None)


def alias_fault(alias: str, known: Mapping[str, Reviewer]) -> str:
    """Why a decision from a file cannot be by this alias, since that is published; "" where it can."""
    if person_key(alias) in known:
        return ""
    if same := _named(alias, known):
        return f"{alias} is {same.alias}: write {same.alias}"
    found = personal_data_in(alias)
    return f"leave out {found[0]!r}: the alias is published" if found else ""


def _key(each: Reviewer) -> str:
    return person_key(each.alias)


def _called(each: Reviewer) -> str:
    return person_key(each.name or each.alias)


@dataclass(frozen=True, slots=True)
class ReviewerFigures:
    """On how many items the person decided, and the median seconds of one (None where nobody measured)."""

    alias: str
    field: str
    degree: str
    items: int
    median_seconds: float | None


def reviewer_figures(said: Mapping[str, Sequence[Decision]], known: Mapping[str, Reviewer]) -> list[ReviewerFigures]:
    """One for each person, by alias. `said` is what people say of the items as they are now, by item."""
    by_person: dict[str, list[Decision]] = {}
    for decisions in said.values():
        for each in decisions:
            by_person.setdefault(person_key(each.reviewer), []).append(each)
    return [_figures(each, known.get(alias)) for alias, each in sorted(by_person.items())]


def institutions_of(said: Mapping[str, Sequence[Decision]], known: Mapping[str, Reviewer]) -> dict[str, int]:
    """How many people who decided are of each group, "not stated" among these, in the order of groups' names."""
    people = {person_key(each.reviewer) for decisions in said.values() for each in decisions}
    groups = Counter(known[alias].institution if alias in known else "" for alias in people)
    return {group or "not stated": number for group, number in sorted(groups.items())} if groups.keys() - {""} else {}


def _figures(said: Sequence[Decision], known: Reviewer | None) -> ReviewerFigures:
    alias, field, degree = (known.alias, known.field, known.degree) if known else (said[0].reviewer, "", "")
    seconds = [each.seconds for each in said if each.seconds is not None]
    median = statistics.median(seconds) if seconds else None
    return ReviewerFigures(alias, field, degree, len(said), median)


def _free(taken: Collection[str]) -> str:
    return next(alias for number in count(1) if person_key(alias := f"R{number}") not in taken)
