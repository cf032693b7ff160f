"""JSON lines that are added: what a kill, a full disk or another process leaves of them."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from toolablate.experiments.record_file import RecordFile, RowFile
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Record

HEAD = b'{"url": '


class Named(Record):
    name: str
    count: int = 0


def rows(path: Path) -> RowFile:
    return RowFile(path, head=HEAD)


def records(path: Path) -> RecordFile[Named]:
    return RecordFile(path, Named, lambda each: each.name, head=b'{"name":', what="name", latest=True)


@pytest.mark.parametrize("torn", [b"{", b'{"url": "https://forum.example/t/2", "te', b'{"url": "caf\xc3'])
def test_a_line_that_was_left_unfinished_is_taken_off(torn: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"url": "one"}\n' + torn)
    with rows(path) as file:
        file.append({"url": "two"})
    assert path.read_bytes() == b'{"url": "one"}\n{"url": "two"}\n'


def test_a_whole_line_without_its_end_stays(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"url": "one"}')
    with rows(path) as file:
        file.append({"url": "two\u2028\ud800"})
    assert [json.loads(line)["url"] for line in path.read_bytes().split(b"\n")[:-1]] == ["one", "two\u2028\ufffd"]


def test_what_was_not_written_here_is_never_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"url": "one"}\nurl: two')
    with pytest.raises(InputError, match=r"rows.jsonl:2: no JSON"):
        rows(path)
    path.write_bytes(b'{"name":"a"}\n{"nam\n{"name":"b')
    with pytest.raises(InputError, match=r"rows.jsonl:2: no name"):
        records(path)
    assert path.read_bytes() == b'{"name":"a"}\n{"nam\n{"name":"b'


def test_a_full_disk_leaves_no_part_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.jsonl"
    write, room = os.write, 20

    def until_full(file: int, line: Any) -> int:
        nonlocal room
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(file, line[:room])
        room -= written
        return written

    with rows(path) as file:
        monkeypatch.setattr(os, "write", until_full)
        file.append({"url": "one"})
        with pytest.raises(StoreError, match="No space left"):
            file.append({"url": "two"})
        monkeypatch.undo()
        file.append({"url": "three"})
    assert path.read_bytes() == b'{"url": "one"}\n{"url": "three"}\n'


def test_of_two_processes_the_second_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with rows(path), pytest.raises(InputError, match="is being written by another process"):
        rows(path)
    with rows(path):
        pass
