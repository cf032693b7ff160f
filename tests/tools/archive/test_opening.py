"""What cannot be opened, and what is said of it."""

import json
import sqlite3
from pathlib import Path

import pytest
from tests.tools.archive.samples import filled, key, warc_files

from toolablate.tools.archive import info, open_archive, seal, verify
from toolablate.traces.errors import InputError, ToolError


def edit(path: Path, **changes: object) -> None:
    file = path / "archive.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def test_what_is_no_archive_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no archive at"):
        open_archive(tmp_path / "none")
    with pytest.raises(InputError, match="There is no archive at"):
        verify(tmp_path / "none")
    with pytest.raises(InputError, match="There is no archive at"):
        info(tmp_path / "none")
    (tmp_path / "notes.txt").write_text("mine")
    for write in False, True:
        with pytest.raises(InputError, match=r"n(ot|either) an archive"):
            open_archive(tmp_path, write=write)
    with pytest.raises(InputError, match="is not an archive"):
        open_archive(tmp_path / "notes.txt")
    with pytest.raises(InputError, match="cannot be opened: File exists"):
        open_archive(tmp_path / "notes.txt", write=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["notes.txt"]
    (tmp_path / "empty").mkdir()
    with open_archive(tmp_path / "empty", write=True):
        pass
    assert verify(tmp_path / "empty").ok
    assert seal(tmp_path / "empty").counts == {}


@pytest.mark.parametrize(("changes", "said"), [
    ({"version": 2}, "was written by a newer toolablate: its format is 2"),
    ({"version": "1"}, r"is damaged: archive.json is not what toolablate writes \(version"),
    ({"format": "other"}, r"is damaged: archive.json is not what toolablate writes \(format"),
    ({"colour": "red"}, r"is damaged: archive.json is not what toolablate writes \(colour"),
    ({"created_at": "yesterday"}, r"is damaged: archive.json is not what toolablate writes \(created_at"),
])  # fmt: skip
def test_another_format_is_refused(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    path = filled(tmp_path / "web", 1)
    edit(path, **changes)
    for write in False, True:
        with pytest.raises(InputError, match=said):
            open_archive(path, write=write)
    assert not verify(path).ok


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "\xff", "[" * 100_000])
def test_a_broken_manifest_is_named(tmp_path: Path, text: str) -> None:
    path = filled(tmp_path / "web", 1)
    (path / "archive.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"is damaged: archive\.json is not what toolablate writes"):
        open_archive(path)
    assert verify(path).problems[0].where == "archive.json"


@pytest.mark.parametrize("sealed", [False, True])
def test_a_broken_index_is_named(tmp_path: Path, sealed: bool) -> None:
    path = filled(tmp_path / "web", 3)
    if sealed:
        seal(path)
    index = path / "index.sqlite"
    whole = index.read_bytes()
    other = sqlite3.connect(tmp_path / "other.sqlite")
    other.execute("CREATE TABLE x (y)")
    other.close()
    for content, said in (
        (None, "its index.sqlite is missing"),
        (b"", "its index.sqlite is no index of ours"),
        (b"no database" * 1000, "its index.sqlite is no index of ours"),
        ((tmp_path / "other.sqlite").read_bytes(), "its index.sqlite is no index of ours"),
    ):
        index.unlink(missing_ok=True)
        if content is not None:
            index.write_bytes(content)
        with pytest.raises(InputError, match=said):
            open_archive(path)
        assert said in verify(path).problems[0].what
    index.write_bytes(whole[: len(whole) // 2])
    assert not verify(path).ok
    with pytest.raises((InputError, ToolError), match=r"damaged|malformed"):
        read_all(path, 3)


def read_all(path: Path, count: int) -> None:
    with open_archive(path) as archive:
        for number in range(count):
            archive.find("extraction", key(number), "")
            archive.find("search", key(number), "")
            archive.find_exchange(key(number), "")


def test_an_edited_seal_is_noticed_when_it_is_opened(tmp_path: Path) -> None:
    path = filled(tmp_path / "web", 1)
    seal(path)
    whole = json.loads((path / "archive.json").read_text())
    for changed in ({"root": "0" * 64}, {"counts": {"exchange": 3}}):
        edit(path, sealed={**whole["sealed"], **changed})
        assert not verify(path).ok
    edit(path, sealed={**whole["sealed"], "root": "0" * 64})
    with pytest.raises(InputError, match=r"its index\.sqlite is not the one that was sealed"):
        open_archive(path)


def test_a_recording_that_is_gone_or_cut_off_is_noticed_when_it_is_opened(tmp_path: Path) -> None:
    path = filled(tmp_path / "web", 1)
    seal(path)
    (warc,) = warc_files(path)
    whole = warc.read_bytes()
    warc.write_bytes(whole[:-1])
    with pytest.raises(InputError, match=r"warc/.*cut off"):
        open_archive(path)
    warc.unlink()
    with pytest.raises(InputError, match=r"warc/.*is not there"):
        open_archive(path)
    warc.write_bytes(whole)
    open_archive(path).close()


def test_folders_that_cannot_be_made_are_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be opened: Not a directory"):
        open_archive(tmp_path / "file" / "web", write=True)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="There is no archive at"):
        open_archive(tmp_path / "link")
