"""Sealing, what a sealed archive can stand, and overlays."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.tools.archive.samples import at, contents, exchange, fill, filled, key, warc_files

from toolablate.tools.archive import Missing, StoredExchange, create_overlay, info, open_archive, seal, verify
from toolablate.traces.errors import InputError


def test_a_sealed_archive_is_plain_files_and_never_changes(tmp_path: Path) -> None:
    path = filled(tmp_path / "web")
    sealed = seal(path)
    assert sorted(entry.name for entry in path.iterdir()) == ["archive.json", "index.sqlite", "warc"]
    assert len(sealed.root) == 64
    assert sealed.counts == {"exchange": 24, "extraction": 12, "failure": 3, "raw": 12, "search": 12}
    before = contents(path)
    assert seal(path) == sealed
    with pytest.raises(InputError, match=r"is sealed.*\n.*web record PLAN --over"):
        open_archive(path, write=True)
    with open_archive(path) as archive:
        assert (archive.sealed, archive.root, archive.path) == (True, sealed.root, path)
        found = archive.find_exchange(key(3), "")
        assert isinstance(found, StoredExchange)
        found.read()
        archive.find("search", "none", "page 3")
    report = verify(path)
    assert (report.problems, report.notes, report.root) == ((), (), sealed.root)
    assert report.checked == {"structure": 1, "entries": 39, "contents": 0, "exchanges": 24, "files": 1}
    assert contents(path) == before


def test_the_root_digest_follows_from_what_is_kept_alone(tmp_path: Path) -> None:
    def root(name: str, *parts: range, extra: bytes = b"") -> str:
        for part in parts:
            with open_archive(tmp_path / name, write=True) as archive:
                fill(archive, part)
                if extra:
                    archive.keep("mcp", key(1), "call", extra, at(0))
        return seal(tmp_path / name).root

    one = root("one", range(12))
    assert root("two", range(6, 12), range(3), range(12)) == one
    assert (
        len({one, root("three", range(11)), root("four", range(12), extra=b"a"), root("five", range(12), extra=b"b")})
        == 4
    )
    shutil.copytree(tmp_path / "one", tmp_path / "elsewhere" / "copy")
    assert verify(tmp_path / "elsewhere" / "copy").problems == ()
    with open_archive(tmp_path / "elsewhere" / "copy") as archive:
        assert archive.root == one


@pytest.mark.parametrize("change", [
    {"status": 201}, {"reason": "Fine"}, {"headers": ()}, {"body": b"x"}, {"address": ""}, {"request_headers": ()},
    {"method": "HEAD"}, {"url": "https://example.org/b"}, {"fetched_at": at(1)},
])  # fmt: skip
def test_all_that_is_in_an_exchange_is_in_the_root_digest(tmp_path: Path, change: dict[str, object]) -> None:
    roots = set()
    for name, sent in (("one", exchange()), ("two", exchange(**change))):
        with open_archive(tmp_path / name, write=True) as archive:
            archive.keep_exchange(key(1), sent)
        roots.add(seal(tmp_path / name).root)
    assert len(roots) == 2


@pytest.mark.parametrize(
    "change", [{"request": "r"}, {"content": b"x"}, {"captured_at": at(1)}, {"failed": True}, {"key": key(2)}]
)
def test_all_that_is_in_an_entry_is_in_the_root_digest(tmp_path: Path, change: dict[str, object]) -> None:
    entry = {"kind": "search", "key": key(1), "request": "q", "content": b"", "captured_at": at(0), "failed": False}
    roots = set()
    for name, kept in (("one", entry), ("two", {**entry, **change})):
        with open_archive(tmp_path / name, write=True) as archive:
            archive.keep(**kept)  # type: ignore[arg-type]
        roots.add(seal(tmp_path / name).root)
    assert len(roots) == 2


READ = """
import sys
from tests.tools.archive.samples import key
from toolablate.tools.archive import info, open_archive, seal, verify
path = sys.argv[1]
with open_archive(path) as archive:
    assert archive.find_exchange(key(3), "").read().body.startswith(b"<p>page 3")
    assert archive.find("search", key(3), "").content
    assert archive.find("search", "none", "where is page 33?").nearest == "where is page 3?"
assert verify(path).problems == ()
seal(path)
print(info(path).counts["exchange"])
"""


@pytest.fixture
def read_only() -> list[str]:
    """How to run a command for which a folder, named last, is read-only, for root too."""
    if shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap")
    return ["bwrap", "--dev-bind", "/", "/", "--ro-bind"]


def test_many_read_a_sealed_archive_from_a_read_only_folder(tmp_path: Path, read_only: list[str]) -> None:
    path = filled(tmp_path / "web")
    seal(path)
    command = [*read_only, str(path), str(path), sys.executable, "-c", READ, str(path)]
    readers = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=Path(__file__).parents[3]
        )
        for _ in range(3)
    ]
    assert [reader.communicate(timeout=60)[0] for reader in readers] == ["24\n"] * 3


OPEN = """
import sys
from toolablate.tools.archive import open_archive, seal, verify
from toolablate.traces.errors import InputError
for act in open_archive, seal, verify, lambda path: open_archive(path, write=True):
    try:
        act(sys.argv[1])
    except InputError as error:
        print(error.code, error.message)
"""


def test_an_archive_that_is_not_sealed_needs_a_writable_folder(tmp_path: Path, read_only: list[str]) -> None:
    path = filled(tmp_path / "web", 1)
    command = [*read_only, str(path), str(path), sys.executable, "-c", OPEN, str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]).stdout
    line = f"read_only The archive {path} cannot be used here: it is not sealed, and its folder is read-only"
    assert said.splitlines() == [line] * 4


def test_one_that_is_in_use_is_not_sealed(tmp_path: Path) -> None:
    path = filled(tmp_path / "web", 1)
    for write in True, False:
        with open_archive(path, write=write), pytest.raises(InputError, match="being used by another process"):
            seal(path)
    assert seal(path).counts["exchange"] == 2


def test_what_an_interrupted_recording_left_is_trimmed(tmp_path: Path) -> None:
    path = filled(tmp_path / "web", 2)
    (file,) = warc_files(path)
    whole = file.read_bytes()
    first = filled(tmp_path / "other", 1)
    file.write_bytes(whole + warc_files(first)[0].read_bytes() + whole[:100])
    begun = file.with_name(f"20260101T000000-{'a' * 16}.warc.gz")
    begun.write_bytes(whole[:50])
    (path / ".archive.json-1-abcd").write_text("{")
    report = verify(path)
    assert report.ok
    assert [note.where for note in report.notes] == [f"warc/{begun.name}", f"warc/{file.name}"]
    assert "50 bytes at its end were never indexed" in report.notes[0].what
    seal(path)
    assert (file.read_bytes(), warc_files(path)) == (whole, [file])
    assert sorted(entry.name for entry in path.iterdir()) == ["archive.json", "index.sqlite", "warc"]
    assert verify(path).notes == ()


def test_a_file_of_somebody_elses_is_neither_sealed_nor_removed(tmp_path: Path) -> None:
    path = filled(tmp_path / "web", 1)
    (path / "warc" / "crawl.warc.gz").write_bytes(b"precious")
    with pytest.raises(InputError, match=r"damaged: warc/crawl.warc.gz: it is not a part of the archive"):
        seal(path)
    assert (path / "warc" / "crawl.warc.gz").read_bytes() == b"precious"


def test_a_sealing_that_was_cut_short_is_no_obstacle(tmp_path: Path) -> None:
    path = filled(tmp_path / "web", 2)
    manifest = (path / "archive.json").read_bytes()
    root = seal(path).root
    # Killed after the index was closed for good, and before archive.json said so.
    (path / "archive.json").write_bytes(manifest)
    with open_archive(path) as archive:
        assert not archive.sealed
    assert verify(path).problems == ()
    assert seal(path).root == root
    (path / "archive.json").write_bytes(manifest)
    with open_archive(path, write=True) as archive:
        archive.keep("search", key(9), "more", b"more", at(0))
    assert seal(path).root != root
    assert verify(path).problems == ()


def test_a_damaged_archive_is_not_sealed(tmp_path: Path) -> None:
    path = filled(tmp_path / "web", 2)
    (file,) = warc_files(path)
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match="cannot be sealed, because it is damaged: exchange"):
        seal(path)
    with open_archive(path) as archive:
        assert not archive.sealed


def test_an_archive_at_a_glance(tmp_path: Path) -> None:
    path = filled(tmp_path / "web", 7)
    told = info(path)
    assert told.counts == {"exchange": 14, "extraction": 7, "failure": 2, "raw": 7, "search": 7}
    assert told.hosts == {"h0.example.org": 6, "h1.example.org": 4, "h2.example.org": 4}
    assert told.failures == {"failure": 2}
    assert (told.first, told.last) == (at(0), at(6))
    assert (told.base, told.sealed) == (None, None)
    assert told.size == sum(len(content) for content in contents(path).values())
    root = seal(path)
    create_overlay(tmp_path / "over", path)
    over = info(tmp_path / "over")
    assert (over.counts, over.hosts, over.first, over.last) == ({}, {}, None, None)
    assert over.base is not None
    assert (over.base.root, over.base.path) == (root.root, "../web")
    assert info(path).sealed == root


def test_an_overlay_and_its_base_move_together(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    filled(here / "base", 2)
    seal(here / "base")
    create_overlay(here / "deep" / "over", here / "base")
    with open_archive(here / "deep" / "over", write=True) as archive:
        archive.keep("search", key(50), "more", b"more", at(0))
    root = seal(here / "deep" / "over").root
    here.rename(there)
    assert verify(there / "deep" / "over").problems == ()
    with open_archive(there / "deep" / "over") as archive:
        assert archive.root == root
        assert not isinstance(archive.find("search", key(1), ""), Missing)


def test_an_overlay_is_opened_by_way_of_links(tmp_path: Path) -> None:
    base, over = filled(tmp_path / "base", 2), tmp_path / "deep" / "er" / "over"
    seal(base)
    create_overlay(over, base)
    (tmp_path / "link").symlink_to(over)
    (tmp_path / "parent").symlink_to(over.parent)
    for path in tmp_path / "link", tmp_path / "parent" / "over":
        with open_archive(path) as archive:
            assert archive.find("search", key(1), "") != Missing("not_in_archive")
        assert verify(path).ok


def test_who_reads_one_that_is_not_sealed_leaves_nothing_behind(tmp_path: Path) -> None:
    path = filled(tmp_path / "web", 2)
    before = contents(path)
    assert verify(path).ok
    info(path)
    with open_archive(path) as archive:
        archive.find("search", key(1), "")
    assert contents(path) == before


def test_the_root_digest_of_an_overlay_covers_its_base(tmp_path: Path) -> None:
    roots = []
    for count in 1, 2:
        base = filled(tmp_path / f"base{count}", count)
        seal(base)
        create_overlay(tmp_path / f"over{count}", base)
        roots.append(seal(tmp_path / f"over{count}").root)
    assert roots[0] != roots[1]


def test_an_overlay_may_not_lie_inside_its_base(tmp_path: Path) -> None:
    base = filled(tmp_path / "base", 1)
    seal(base)
    (tmp_path / "link").symlink_to(base)
    before = contents(base)
    for path in base, base / "over", base / "warc" / "over", tmp_path / "link" / "over":
        with pytest.raises(InputError, match=r"lies inside the archive|There is an archive"):
            create_overlay(path, base)
    assert contents(base) == before
    create_overlay(tmp_path / "base2", base)


def test_what_is_no_archive_cannot_be_verified(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in tmp_path, tmp_path / "file":
        with pytest.raises(InputError, match=r"is not an archive: it has no archive\.json"):
            verify(path)
    lost = filled(tmp_path / "lost", 1)
    (lost / "archive.json").unlink()
    assert [problem.where for problem in verify(lost).problems] == ["archive.json"]


def test_a_base_that_is_gone_or_another_is_refused(tmp_path: Path) -> None:
    base, over = filled(tmp_path / "base", 1), tmp_path / "over"
    with pytest.raises(InputError, match="is not sealed, so nothing can be laid over it"):
        create_overlay(over, base)
    assert not over.exists()
    seal(base)
    create_overlay(over, base)
    with pytest.raises(InputError, match="There is an archive at"):
        create_overlay(over, base)
    base.rename(tmp_path / "moved")
    for act in open_archive, seal, verify, lambda path: open_archive(path, write=True):
        with pytest.raises(InputError, match=r"lies over .*/base, which cannot be opened: There is no archive at"):
            act(over)
    filled(base, 2)
    with pytest.raises(InputError, match="which is not what it was"):
        open_archive(over)
    seal(base)
    with pytest.raises(InputError, match="which is not what it was"):
        open_archive(over, write=True)
    assert "it is not the one that was laid under" in verify(over).problems[0].what
