"""What is not as it was kept is found, and never taken for a model's words."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.agents.replies.samples import kept, question

from toolablate.agents.replies import ResponseCache, info, verify
from toolablate.traces.errors import InputError, StoreError


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    file = tmp_path / "replies.sqlite"
    async with ResponseCache(file, write=True) as cache:
        for number in range(3):
            await cache.keep(question(number), kept(f"reply {number}"))
    return file


async def test_what_is_whole_is_found_whole(path: Path) -> None:
    report = verify(path)
    assert (report.replies, report.problems) == (3, ())
    async with ResponseCache(path) as cache:
        assert report.root == cache.root()


SAID = "(SELECT said FROM replies WHERE key = x'{key}')"


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (f"UPDATE texts SET body = x'7b7d' WHERE id = {SAID}", "decoded"),
        (
            f"UPDATE texts SET body = cast('{{{{}}}}' AS BLOB), encoding = 0 WHERE id = {SAID}",
            "does not match its digest",
        ),
        (f"DELETE FROM texts WHERE id = {SAID}", "is missing"),
        ("UPDATE replies SET said = rest WHERE key = x'{key}'", "does not match its digest"),
        ("UPDATE replies SET digest = x'00' WHERE key = x'{key}'", "does not match its digest"),
        ("UPDATE replies SET repeat = 5 WHERE key = x'{key}'", "does not match its digest"),
        ("UPDATE replies SET messages = '1,2' WHERE key = x'{key}'", "its key does not follow"),
        ("UPDATE replies SET tools = parameters WHERE key = x'{key}'", "its key does not follow"),
        ("UPDATE replies SET none = 1 WHERE key = x'{key}'", "a column does not match"),
        ("UPDATE replies SET recorded_at = 'now' WHERE key = x'{key}'", "no moment of recording"),
        ("UPDATE replies SET recorded_at = 1000000000000000000 WHERE key = x'{key}'", "no moment of recording"),
        ("CREATE TRIGGER own AFTER INSERT ON replies BEGIN SELECT 1; END", "its tables are not those"),
    ],
)
async def test_all_that_was_changed_is_found(path: Path, statement: str, found: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement.format(key=question(1).key.hex()))
    problems = [f"{problem.where}: {problem.what}" for problem in verify(path).problems]
    assert any(found in problem for problem in problems), problems
    assert verify(path).root == ""


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE texts SET body = x'7b7d' WHERE id = {SAID}",
        f"DELETE FROM texts WHERE id = {SAID}",
        "UPDATE replies SET said = rest WHERE key = x'{key}'",
        "UPDATE replies SET digest = x'00' WHERE key = x'{key}'",
    ],
)
async def test_what_was_changed_is_not_given(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement.format(key=question(1).key.hex()))
    async with ResponseCache(path) as cache:
        assert cache.get(question(2)) == kept("reply 2")
        with pytest.raises(StoreError, match=r"(?s)are damaged.*toolablate verify"):
            cache.get(question(1))


@pytest.mark.parametrize(
    "value",
    ["'now'", "1000000000000000000", "-1000000000000", "9e300", "x'00'"],
    ids=["word", "far", "past", "float", "blob"],
)
async def test_times_that_are_none_are_told_and_not_shown(path: Path, value: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE replies SET recorded_at = {value}")
    with pytest.raises(StoreError, match="no moment of recording"):
        info(path)
    assert len(verify(path).problems) == 3


async def test_a_schema_that_was_made_to_act_does_not(path: Path) -> None:
    """A table in its place that would read what SQLite knows of this machine."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE texts")
        connection.execute(
            "CREATE VIEW texts AS SELECT seq AS id, name AS digest, 0 AS encoding, file AS body FROM pragma_database_list"
        )
    problems = [f"{problem.where}: {problem.what}" for problem in verify(path).problems]
    assert "database: its tables are not those of recorded replies" in problems
    assert any("unsafe use of virtual table" in problem for problem in problems), problems
    with pytest.raises(InputError, match="does not hold recorded replies"):
        ResponseCache(path)


@pytest.mark.parametrize("statement", ["CREATE TABLE texts (id UNIQUE)", "PRAGMA application_id = 7"])
def test_a_database_of_something_else_is_not_damaged(tmp_path: Path, statement: str) -> None:
    file = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(file)) as other:
        other.execute(statement)
    with pytest.raises(InputError, match="does not hold recorded replies") as refused:
        verify(file)
    assert refused.value.hint == 'Name a file that a run with replies.mode = "record" wrote.'


def test_what_a_newer_toolablate_recorded_is_not_damaged(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="recorded by a newer toolablate"):
        verify(path)


def test_without_its_number_it_is_damaged(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 0")
    assert [problem.what for problem in verify(path).problems] == ["its tables are not those of recorded replies"]


def test_a_file_that_is_cut_off_is_damaged(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    assert verify(path).problems
