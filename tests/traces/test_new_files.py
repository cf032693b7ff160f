"""What takes the place of a folder or file when all is written."""

from pathlib import Path

import pytest

from toolablate.traces import new_files
from toolablate.traces.errors import InputError
from toolablate.traces.new_files import new_file, new_folder, require_own_folder


def write(folder: Path, text: str) -> None:
    with new_folder(folder, lambda file: file.name == "rows") as made:
        (made / "rows").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("flag", [2, 1 << 30], ids=["one-step", "file-system-that-cannot"])
def test_a_folder_takes_the_place_of_another(flag: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_files, "_RENAME_EXCHANGE", flag)
    for text in ("old", "new"):
        write(tmp_path / "out", text)
        assert [each.name for each in tmp_path.iterdir()] == ["out"]
        assert (tmp_path / "out/rows").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("ends", [OSError(5, "Input/output error"), KeyboardInterrupt()], ids=["fails", "killed"])
def test_between_two_steps_the_old_folder_is_not_lost(
    ends: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_files, "_RENAME_EXCHANGE", 1 << 30)
    out, rename = tmp_path / "out", Path.rename
    write(out, "old")

    def broken(path: Path, target: Path) -> Path:
        if path.suffix == ".part":
            raise ends
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", broken)
        with pytest.raises((InputError, KeyboardInterrupt)):
            write(out, "new")
    assert out.exists() is isinstance(ends, OSError)
    with pytest.raises(ZeroDivisionError), new_folder(out, lambda _: True):
        raise ZeroDivisionError
    assert (out / "rows").read_text(encoding="utf-8") == "old"
    write(out, "new")
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_two_that_write_one_file_or_folder_do_not_take_each_other_s_half(tmp_path: Path) -> None:
    # Of one process: in containers that share a volume, numbers of processes repeat.
    with new_file(tmp_path / "file") as one:
        one.write(b"one ")
        with new_file(tmp_path / "file") as other:
            other.write(b"other")
        assert (tmp_path / "file").read_bytes() == b"other"
        one.write(b"whole")
    assert (tmp_path / "file").read_bytes() == b"one whole"
    with new_folder(tmp_path / "out", lambda _: True) as made:
        (made / "rows").write_text("one", encoding="utf-8")
        write(tmp_path / "out", "other")
        assert (tmp_path / "out/rows").read_text(encoding="utf-8") == "other"
    assert (tmp_path / "out/rows").read_text(encoding="utf-8") == "one"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "out"]


def test_a_mount_point_is_refused() -> None:
    with pytest.raises(InputError, match="output: /proc is a mount point") as refused:
        require_own_folder(Path("/proc"), lambda _: True, "output")
    assert refused.value.hint == "name a folder below it"


def test_a_folder_keeps_its_mode(tmp_path: Path) -> None:
    write(tmp_path / "out", "old")
    (tmp_path / "out").chmod(0o2775)
    write(tmp_path / "out", "new")
    assert (tmp_path / "out").stat().st_mode & 0o7777 == 0o2775


def test_a_folder_with_other_files_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with (
        pytest.raises(InputError, match=r"output: .* has other files, such as 'mine'"),
        new_folder(tmp_path, lambda _: False, "output"),
    ):
        pass


@pytest.mark.parametrize("flag", [2, 1 << 30], ids=["one-step", "file-system-that-cannot"])
def test_files_that_come_while_the_folder_is_replaced_are_not_deleted(
    flag: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_files, "_RENAME_EXCHANGE", flag)
    out = tmp_path / "out"
    write(out, "old")
    sync = new_files._sync

    def late(path: Path) -> None:
        (out / "mine").write_text("mine", encoding="utf-8")
        sync(path)

    monkeypatch.setattr(new_files, "_sync", late)
    with pytest.raises(InputError, match="has other files, such as 'mine'"):
        write(out, "new")
    assert {each.name: each.read_text(encoding="utf-8") for each in out.iterdir()} == {"rows": "old", "mine": "mine"}
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
