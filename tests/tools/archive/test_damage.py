"""Real files are damaged in one place; `verify` has to find it and name it, and nothing damaged is handed out."""

import contextlib
import hashlib
import random
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.tools.archive.samples import filled, key, warc_files

from toolablate.tools.archive import Missing, StoredExchange, create_overlay, open_archive, seal, verify
from toolablate.traces.errors import InputError, ToolError

COUNT = 6


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = filled(tmp_path_factory.mktemp("sound") / "web", COUNT)
    seal(path)
    return path


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "web"))


def edit(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path / "index.sqlite", isolation_level=None)
    for statement in statements:
        assert connection.execute(statement).rowcount > 0, statement
    connection.close()


ONE = f"key = '{key(1)}'"
EDITS = {
    "content exchanged": (f"UPDATE entries SET blob = 1 WHERE kind = 'search' AND {ONE}", f"search {key(1)}", "digest"),
    "content edited": ("UPDATE blobs SET body = x'00', encoding = 0 WHERE id = 1", "extraction", "does not match its digest"),
    "content not zstd": ("UPDATE blobs SET body = x'28b52ffd00', encoding = 1 WHERE id = 1", "extraction", "cannot be decoded"),
    "content a text": ("UPDATE blobs SET body = 'x' WHERE id = 1", "extraction", ""),
    "content lost": ("DELETE FROM blobs WHERE id = 1", "", ""),
    "content added": ("INSERT INTO blobs (digest, encoding, body) VALUES (x'00', 0, x'00')", "content", "not match"),
    "time edited": (f"UPDATE entries SET captured_at = 5 WHERE kind = 'search' AND {ONE}", "search", "column"),
    "time a text": (f"UPDATE entries SET captured_at = 'x' WHERE kind = 'search' AND {ONE}", "search", "column"),
    "request edited": (f"UPDATE entries SET request = 'r' WHERE kind = 'search' AND {ONE}", "search", "column"),
    "key edited": (f"UPDATE entries SET key = 'k' WHERE kind = 'search' AND {ONE}", "search k", "column"),
    "kind edited": (f"UPDATE entries SET kind = 'mcp' WHERE kind = 'search' AND {ONE}", "mcp", "column"),
    "failure hidden": ("UPDATE entries SET failed = 0 WHERE kind = 'failure'", "failure", "column"),
    "entry deleted": (f"DELETE FROM entries WHERE kind = 'search' AND {ONE}", "archive", "root digest"),
    "status edited": (f"UPDATE exchanges SET status = 404 WHERE {ONE}", f"exchange {key(1)}", "column"),
    "location edited": (f"UPDATE exchanges SET location = '/' WHERE {ONE}", "exchange", "column"),
    "content type edited": (f"UPDATE exchanges SET content_type = '' WHERE {ONE}", "exchange", "column"),
    "payload edited": (f"UPDATE exchanges SET payload = zeroblob(16) WHERE {ONE}", "exchange", "column"),
    "longer than its file": (
        "UPDATE exchanges SET request_bytes = request_bytes + 1 WHERE position = (SELECT max(position) FROM exchanges)",
        "exchange",
        "cut off",
    ),
    "URL edited": (f"UPDATE exchanges SET url = 'https://x.org/' WHERE {ONE}", "exchange", "column"),
    "near form edited": (f"UPDATE exchanges SET near = 'x.org/' WHERE {ONE}", "exchange", "column"),
    "exchange moved": (f"UPDATE exchanges SET key = 'k' WHERE {ONE}", "exchange k", "not the one that was kept"),
    "exchange retimed": (f"UPDATE exchanges SET captured_at = 5 WHERE {ONE}", "exchange", "column"),
    "exchange deleted": (f"DELETE FROM exchanges WHERE {ONE}", "warc/", "gaps"),
    "last exchange deleted": ("DELETE FROM exchanges WHERE id = (SELECT max(id) FROM exchanges)", "warc/", "never indexed"),
    "pointed elsewhere": (f"UPDATE exchanges SET position = 0 WHERE {ONE}", "exchange", "damaged"),
    "pointed at another": (
        "UPDATE exchanges SET (position, response_bytes, request_bytes) = (SELECT position, response_bytes, request_bytes"
        f" FROM exchanges WHERE key = '{key(2)}') WHERE {ONE}",
        "exchange",
        "not the one that was kept",
    ),
    "pointed nowhere": (f"UPDATE exchanges SET position = 1000000 WHERE {ONE}", "exchange", "cut off"),
    "pointed before the start": (f"UPDATE exchanges SET position = -1 WHERE {ONE}", "exchange", "damaged"),
    "endless": (f"UPDATE exchanges SET response_bytes = 1 << 40 WHERE {ONE}", "exchange", "no place"),
    "file renamed": ("UPDATE files SET name = '../../../../etc/passwd'", "exchange", "no place"),
    "file forgotten": ("DELETE FROM files", "exchange", "damaged"),
    "root edited": ("UPDATE facts SET value = 'x'", "index", "not the one that was sealed"),
    "trigger added": (
        "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM blobs; END", "archive", "no index of ours"
    ),
    "table dropped": ("DROP TABLE blobs", "archive", "no index of ours"),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_index_is_found_out(copy: Path, name: str) -> None:
    statement, where, what = EDITS[name]
    if statement.startswith(("DROP", "CREATE")):
        connection = sqlite3.connect(copy / "index.sqlite")
        connection.executescript(statement)
        connection.close()
    else:
        edit(copy, statement)
    problems = verify(copy).problems
    assert any(where in problem.where and what in problem.what for problem in problems), problems


@pytest.mark.parametrize("name", ["content edited", "content not zstd", "content a text"])
def test_a_damaged_content_is_never_handed_out(copy: Path, name: str) -> None:
    edit(copy, EDITS[name][0])
    with (
        open_archive(copy) as archive,
        pytest.raises(ToolError, match=r"is damaged: extraction(.|\n)*toolablate verify") as caught,
    ):
        archive.find("extraction", key(0), "")
    assert caught.value.code == "archive_damaged"


@pytest.mark.parametrize("value", ["'x'", "x'ff'", "1e300", "-9000000000000000000"])
def test_a_damaged_time_is_told_or_beyond_all(copy: Path, value: str) -> None:
    edit(copy, f"UPDATE entries SET captured_at = {value} WHERE kind = 'search'")
    edit(copy, f"UPDATE exchanges SET captured_at = {value}, payload = 7")
    with open_archive(copy) as archive:
        for find in archive.find, lambda _, key, url: archive.find_exchange(key, url):
            with contextlib.suppress(ToolError):
                assert isinstance(find("search", key(1), ""), Missing)
    assert not verify(copy).ok


def test_a_damaged_number_is_told(copy: Path) -> None:
    edit(copy, "UPDATE entries SET captured_at = -9000000000000000000", "UPDATE exchanges SET payload = 7")
    with open_archive(copy) as archive:
        with pytest.raises(ToolError, match=f"is damaged: search {key(1)}: it does not match its digest"):
            archive.find("search", key(1), "")
        with pytest.raises(ToolError, match=f"is damaged: exchange {key(1)}: 'int' object"):
            archive.find_exchange(key(1), "")


@pytest.mark.parametrize(
    "name",
    [
        "pointed elsewhere",
        "pointed at another",
        "pointed before the start",
    ],
)
def test_a_wrong_record_is_never_handed_out(copy: Path, name: str) -> None:
    edit(copy, EDITS[name][0])
    with open_archive(copy) as archive:
        found = archive.find_exchange(key(1), "")
        assert isinstance(found, StoredExchange)
        with pytest.raises(ToolError, match=r"is damaged: the record of"):
            found.read()


@pytest.mark.parametrize("name", ["pointed nowhere", "endless", "file renamed"])
def test_an_index_that_wants_more_than_there_is_is_not_opened(copy: Path, name: str) -> None:
    edit(copy, EDITS[name][0])
    with pytest.raises(InputError, match=r"is damaged: its warc/.* is not there, or cut off"):
        open_archive(copy)


TOLD = ["location edited", "content type edited", "status edited", "URL edited", "payload edited", "exchange spared"]
EDITS["exchange spared"] = (f"UPDATE exchanges SET failed = 1 WHERE {ONE}", "exchange", "not the one that was kept")


@pytest.mark.parametrize("name", TOLD)
def test_nothing_false_is_told_of_an_exchange(copy: Path, name: str) -> None:
    edit(copy, EDITS[name][0])
    with (
        open_archive(copy) as archive,
        pytest.raises(ToolError, match=f"is damaged: exchange {key(1)}: it does not match"),
    ):
        archive.find_exchange(key(1), "")


@pytest.mark.parametrize("name", ["content exchanged", "request edited", "time edited"])
def test_nothing_false_is_told_of_an_entry(copy: Path, name: str) -> None:
    edit(copy, EDITS[name][0])
    with (
        open_archive(copy) as archive,
        pytest.raises(ToolError, match=f"is damaged: search {key(1)}: it does not match"),
    ):
        archive.find("search", key(1), "")


def test_a_false_content_under_a_digest_of_its_own_is_not_handed_out(copy: Path) -> None:
    digest = hashlib.sha256(b"FALSE").digest()[:16].hex()
    blob = f"(SELECT blob FROM entries WHERE kind = 'search' AND {ONE})"
    edit(copy, f"UPDATE blobs SET body = x'{b'FALSE'.hex()}', encoding = 0, digest = x'{digest}' WHERE id = {blob}")
    with (
        open_archive(copy) as archive,
        pytest.raises(ToolError, match=f"is damaged: search {key(1)}: it does not match"),
    ):
        archive.find("search", key(1), "")


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE entries SET digest = zeroblob(32) WHERE kind = 'search' AND {ONE}",
        f"UPDATE exchanges SET digest = 'x' WHERE {ONE}",
        EDITS["entry deleted"][0],
        EDITS["exchange deleted"][0],
    ],
)
def test_captures_that_are_not_those_of_the_root_digest_are_not_opened(
    copy: Path, statement: str, tmp_path: Path
) -> None:
    create_overlay(tmp_path / "over", copy)
    edit(copy, statement)
    for path in copy, tmp_path / "over":
        with pytest.raises(InputError, match=r"is damaged(.|\n)*toolablate verify") as caught:
            open_archive(path)
        assert caught.value.code == "damaged"


def flip(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 0x10
    file.write_bytes(content)


def test_a_flipped_byte_in_a_record_is_named_and_the_others_stay_readable(copy: Path) -> None:
    (file,) = warc_files(copy)
    connection = sqlite3.connect(copy / "index.sqlite")
    ((position,),) = connection.execute(f"SELECT position + 150 FROM exchanges WHERE {ONE}").fetchall()
    connection.close()
    flip(file, position)
    (problem,) = verify(copy).problems
    assert problem.where.startswith(f"exchange {key(1)} (https://h1.example.org/page/1, {file.name} at ")
    assert problem.what.startswith("its WARC record is damaged: ")
    with open_archive(copy) as archive:
        damaged, whole = (archive.find_exchange(key(number), "") for number in (1, 2))
        assert isinstance(damaged, StoredExchange)
        assert isinstance(whole, StoredExchange)
        assert whole.read().body.startswith(b"<p>page 2")
        with pytest.raises(ToolError, match="is damaged: the record of https://h1"):
            damaged.read()


def all_that_is_in(path: Path) -> list[object]:
    """Every row of the index, every content and every exchange as it is read."""
    connection = sqlite3.connect(path / "index.sqlite")
    # Zstandard has bits that mean nothing, so contents are compared as they are handed out.
    rows = [line for line in connection.iterdump() if not line.startswith('INSERT INTO "blobs"')]
    keys = [key for (key,) in connection.execute("SELECT key FROM exchanges ORDER BY key")]
    entries = list(connection.execute("SELECT kind, key FROM entries ORDER BY kind, key"))
    connection.close()
    with open_archive(path) as archive:
        contents = [archive.find(kind, key, "") for kind, key in entries]
        found = [archive.find_exchange(key, "") for key in keys]
        exchanges = [exchange.read() for exchange in found if isinstance(exchange, StoredExchange)]
        return [archive.root, rows, contents, exchanges]


@pytest.mark.parametrize("name", ["archive.json", "index.sqlite", "warc"])
def test_a_flipped_bit_is_noticed_or_changes_nothing(sound: Path, tmp_path: Path, name: str) -> None:
    before, noticed = all_that_is_in(sound), 0
    generator = random.Random(7)
    for number in range(40):
        copy = Path(shutil.copytree(sound, tmp_path / str(number)))
        file = warc_files(copy)[0] if name == "warc" else copy / name
        # Most of a small index is room that is not used yet, and most of its bytes are zero.
        content = file.read_bytes()
        flip(file, generator.choice([place for place, byte in enumerate(content) if byte]))
        if verify(copy).ok:
            assert all_that_is_in(copy) == before
        else:
            noticed += 1
    assert noticed > 20


def test_a_truncated_file_is_named(copy: Path) -> None:
    (file,) = warc_files(copy)
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    (problem,) = verify(copy).problems
    assert problem.where.startswith("exchange ")
    assert "it is cut off" in problem.what
    file.write_bytes(content[:100])
    problems = verify(copy).problems
    assert len(problems) == 2 * COUNT + 1
    assert "its first record is damaged" in problems[-1].what
    file.write_bytes(content + b"\x1f\x8b")
    assert [problem.what for problem in verify(copy).problems] == ["2 bytes at its end were never indexed"]


def test_a_deleted_file_is_named(copy: Path) -> None:
    (file,) = warc_files(copy)
    file.unlink()
    problems = verify(copy).problems
    assert len(problems) == 2 * COUNT + 1
    assert all("cannot be read (No such file or directory)" in problem.what for problem in problems)
    shutil.rmtree(copy / "warc")
    assert len(verify(copy).problems) == 2 * COUNT + 1


def test_a_file_of_somebody_elses_is_named(copy: Path) -> None:
    (copy / "warc" / "x.warc.gz").write_bytes(b"")
    (problem,) = verify(copy).problems
    assert (problem.where, problem.what) == ("warc/x.warc.gz", "it is not a part of the archive")


def test_damage_of_a_base_is_named_as_such(copy: Path, tmp_path: Path) -> None:
    create_overlay(tmp_path / "over", copy)
    assert verify(tmp_path / "over").ok
    edit(copy, EDITS["request edited"][0])
    assert [problem.where for problem in verify(tmp_path / "over").problems] == [f"base ../web: search {key(1)}"]


def test_a_ruin_has_a_list_that_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolablate.tools.archive.archive_check.MAX_PROBLEMS", 5)
    path = filled(tmp_path / "web", COUNT)
    warc_files(path)[0].unlink()
    problems = verify(path).problems
    assert len(problems) == 6
    assert problems[-1].what == "and more: only the first 5 problems are listed"


def test_an_archive_that_lies_over_itself_is_no_trap(copy: Path) -> None:
    manifest = copy / "archive.json"
    root = seal(copy).root
    manifest.write_text(manifest.read_text().replace("{", f'{{"base": {{"path": ".", "root": "{root}"}},', 1))
    assert not verify(copy).ok
    with pytest.raises(InputError):
        open_archive(copy)
