"""Who reviews: aliases that nobody else has, and profiles that are not lost."""

import fcntl
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from toolablate.experiments import record_file
from toolablate.experiments.construction.reviewers import Reviewers
from toolablate.experiments.construction.workbench import Decision
from toolablate.traces.errors import InputError


@pytest.fixture
def reviewers(tmp_path: Path) -> Reviewers:
    return Reviewers(tmp_path / "w.sqlite")


def test_two_who_come_at_once_have_aliases_of_their_own(reviewers: Reviewers, monkeypatch: pytest.MonkeyPatch) -> None:
    given, waits = list[str](), threading.Event()
    other = threading.Thread(target=lambda: given.append(reviewers.enter("", "Bob", "").alias))

    def locking(file: int, how: int) -> None:
        if threading.current_thread() is other:
            waits.set()
        fcntl.flock(file, how)

    class WhileAnotherEnters(list[str]):
        """Asked for while an alias is looked for: until the other one has come to the lock, or without one to the end."""

        def __iter__(self) -> Iterator[str]:
            other.start()
            while not waits.wait(0.01) and other.is_alive():
                pass
            return super().__iter__()

    monkeypatch.setattr(record_file, "fcntl", SimpleNamespace(**{**vars(fcntl), "flock": locking}))
    given.append(reviewers.enter("", "Ann", "", decided=WhileAnotherEnters()).alias)
    other.join()
    assert sorted(given) == ["R1", "R2"]
    assert {each.name for each in reviewers.known().values()} == {"Ann", "Bob"}


def test_a_damaged_line_is_named_and_keeps_nobody_from_entering(reviewers: Reviewers) -> None:
    reviewers.enter("ann", "Ann Lee", "")
    with reviewers.path.open("ab") as file:
        file.write(b"{damaged\n")
    reviewers.enter("bob", "Bob Roe", "")
    assert list(reviewers.known()) == ["ann", "bob"]
    assert reviewers.damaged().startswith(f"Line 2 of {reviewers.path} cannot be read")


@pytest.mark.parametrize("odd", ["Ann\u2028Lee", "Ann\x85Lee"])
def test_a_name_with_an_odd_end_of_line_is_kept(odd: str, reviewers: Reviewers) -> None:
    made = reviewers.enter("", odd, odd)
    assert reviewers.known() == {"r1": made}
    assert reviewers.enter("", "Bob", "").alias == "R2"


def test_a_line_that_a_kill_left_unfinished_costs_no_other_reviewer(reviewers: Reviewers) -> None:
    reviewers.enter("ann", "Ann Lee", "")
    with reviewers.path.open("ab") as file:
        file.write(b'{"alias": "bo')
    reviewers.enter("cleo", "Cleo Fox", "")
    assert list(reviewers.known()) == ["ann", "cleo"]
    assert reviewers.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (("", "Eva Long"), ("", "Eva Long")),
        (("", "Ann Smith"), ("", " ann  smith ")),
        (("", "Zo\u00eb Lee"), ("zoe", "Zoe\u0308 LEE")),
        (("Eva Long", ""), ("", "eva long")),
        (("", "Eva Long"), ("Eva Long", "")),
    ],
    ids=["the same", "capitals and blanks", "encoded otherwise", "as an alias", "as an alias now"],
)
def test_one_name_has_one_alias(first: tuple[str, str], again: tuple[str, str], reviewers: Reviewers) -> None:
    made = reviewers.enter(*first, "")
    with pytest.raises(InputError, match=rf" is {made.alias}: choose {made.alias} if this is you, or add something"):
        reviewers.enter(*again, "")
    assert list(reviewers.known().values()) == [made]
    assert reviewers.enter("", f"{first[1] or first[0]} of Delft", "").alias != made.alias


@pytest.mark.parametrize(
    ("alias", "name", "field", "told"),
    [
        ("Anne Gray", "Anne Gray", "", "this is your name"),
        ("gray, anne", "Anne Gray", "", "this is your name"),
        ("Dr. Anne of Gray", "Anne Gray", "", "this is your name"),
        ("anne.gray", "Anne Gray", "", "this is your name"),
        ("annegray", "anne gray", "", "this is your name"),
        ("Gray_Anne", "anne gray", "", "this is your name"),
        ("A. Gray", "Anne Gray", "", "this is your name"),
        ("gray a", "Anne Gray", "", "this is your name"),
        ("anna.berg", "Anna van der Berg", "", "this is your name"),
        ("hans mueller", "Hans Müller", "", "this is your name"),
        ("王小明", "王小明", "", "this is your name"),
        ("王小明2", "王小明", "", "this is your name"),
        ("Li", "li", "", "this is your name"),
        ("anne", "Anne Gray", "", ""),
        ("grayling and anneal", "Anne Gray", "", ""),
        ("bob@corp.example", "Anne Gray", "", "Leave out 'bob@corp.example'"),
        ("R9", "Anne Gray", "Chemistry, ann@corp.example", "Leave out 'ann@corp.example'"),
    ],
)
def test_what_is_published_of_a_person_has_neither_name_nor_address(
    alias: str, name: str, field: str, told: str, reviewers: Reviewers
) -> None:
    if told:
        with pytest.raises(InputError, match=re.escape(told)):
            reviewers.enter(alias, name, field)
        assert not reviewers.known()
    else:
        assert reviewers.enter(alias, name, field).alias == alias


def test_a_name_that_has_decided_from_a_file_is_no_new_person(reviewers: Reviewers) -> None:
    with pytest.raises(InputError, match="bobcarter has decided or proposed something here: enter this"):
        reviewers.enter("", "Bob Carter", "", decided=["bobcarter"])
    assert reviewers.enter("bobcarter", "", "", decided=["bobcarter"]).alias == "bobcarter"
    assert reviewers.enter("", "Bob Carter of Delft", "", decided=["ann"]).alias == "R1"


SPELLINGS = ["Zoé", "Zoe\u0301", "zoé\u200b", " ZOÉ ", "Ｚoé", "Zo\x00é", "Zo\u00adé"]


def test_one_alias_is_one_person_however_it_is_encoded(reviewers: Reviewers) -> None:
    said = [Decision(item="i", seen="s", reviewer=each, verdict="accept") for each in SPELLINGS]
    assert {each.by for each in said} == {("i", "s", "zoé")}
    reviewers.enter("Zoé", "", "")
    for each in SPELLINGS:
        with pytest.raises(InputError, match="has the alias"):
            reviewers.enter(each, "Other", "")
    assert reviewers.enter("\u200b", "Other", "").alias == "R1"
    for wrong in ("\u200b", "a" * 61):
        with pytest.raises(ValidationError):
            Decision(item="i", seen="s", reviewer=wrong, verdict="accept")
    with pytest.raises(InputError, match="alias: "):
        reviewers.enter("a" * 100_000, "Long", "")
