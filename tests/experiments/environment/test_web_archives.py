"""Archives as the commands leave them: what is sealed is complete, and who only looks changes nothing."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.experiments.library import Library
from tests.experiments.scripted import write_scripted

from toolablate.cli import group
from toolablate.experiments.doctor import CheckResult, web_findings
from toolablate.experiments.plans.plan import load_plan
from toolablate.tools.archive import Archive, info, open_archive, seal
from toolablate.tools.extraction import ExtractionOptions
from toolablate.tools.recorded import RecordedHttpClient, WebPages
from toolablate.tools.web import LiveHttpClient
from toolablate.tools.web.follow import follow
from toolablate.traces.errors import InputError
from toolablate.traces.records import PageText


@pytest.fixture
def plan(tmp_path: Path, library: Library) -> Path:
    extra = (
        f"[search]\nprovider = 'searxng'\nendpoint = '{library.url}'\n"
        f"[web]\nmode = 'record'\narchive = 'kept'\nallow = ['{library.host}']\ndelay_seconds = 0\n"
    )
    return write_scripted(tmp_path, [], '[{ name = "search" }]', extra)


def web(*arguments: object) -> Result:
    return CliRunner().invoke(group, ["web", *map(str, arguments)])


def archive_of(plan: Path) -> CheckResult:
    return next(each for each in web_findings(load_plan(plan)[0]) if each.name == "archive")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


class NoExtractor:
    identity = "none"

    async def extract(self, body: bytes, options: ExtractionOptions) -> PageText:
        raise AssertionError(f"the text of {options.url} is not in the archive")


def test_sealing_reads_what_a_recording_that_was_killed_left_unread(
    plan: Path, library: Library, tmp_path: Path
) -> None:
    policy = load_plan(plan)[0].web.policy

    async def fetch_only(archive: Archive) -> None:
        client = LiveHttpClient(policy)
        await follow(library.pages[0], RecordedHttpClient(archive, "record", client), policy)
        await client.close()

    with open_archive(tmp_path / "kept", write=True) as archive:
        asyncio.run(fetch_only(archive))
    result = web("seal", tmp_path / "kept")
    assert result.exit_code == 0, result.output
    assert info(tmp_path / "kept").counts == {"exchange": 2, "extraction": 2}
    with open_archive(tmp_path / "kept") as archive:
        page = asyncio.run(
            WebPages(RecordedHttpClient(archive, "replay"), policy, NoExtractor()).read(library.pages[0])
        )
    assert page.text
    assert web("seal", tmp_path / "kept").exit_code == 0


def test_an_archive_in_use_is_not_sealed(plan: Path, library: Library, tmp_path: Path) -> None:
    web("record", plan, library.pages[0])
    with open_archive(tmp_path / "kept", write=True):
        result = web("seal", tmp_path / "kept")
    assert isinstance(result.exception, InputError)
    assert result.exception.code == "locked"


@pytest.mark.parametrize("made", [False, True])
def test_doctor_makes_no_archive(plan: Path, tmp_path: Path, made: bool) -> None:
    if made:
        (tmp_path / "kept").mkdir()
    looked = archive_of(plan)
    assert (looked.state, looked.detail) == ("ok", f"{tmp_path / 'kept'} will be made")
    assert (tmp_path / "kept").exists() == made
    assert not contents(tmp_path / "kept")


def test_doctor_changes_no_archive(plan: Path, library: Library, tmp_path: Path) -> None:
    web("record", plan, library.pages[0])
    before = contents(tmp_path / "kept")
    looked = archive_of(plan)
    assert (looked.state, looked.detail) == ("ok", f"{tmp_path / 'kept'} is whole")
    assert contents(tmp_path / "kept") == before


def test_doctor_says_what_cannot_be_recorded_into(plan: Path, library: Library, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "thesis.tex").touch()
    assert "is neither an archive nor empty: it contains thesis.tex" in archive_of(plan).detail
    (tmp_path / "kept" / "thesis.tex").unlink()
    web("record", plan, library.pages[0])
    seal(tmp_path / "kept")
    looked = archive_of(plan)
    assert looked.state == "missing"
    assert "is sealed, so nothing can be added to it" in looked.detail


def test_doctor_names_the_place_and_the_damage(plan: Path, library: Library, tmp_path: Path) -> None:
    web("record", plan, library.pages[0])
    (records,) = (tmp_path / "kept" / "warc").iterdir()
    records.write_bytes(records.read_bytes()[:-1])
    looked = archive_of(plan)
    assert looked.detail.startswith(f"{tmp_path / 'kept'} is damaged: exchange ")
    assert looked.detail.endswith(": its WARC record is damaged: it is cut off")
    assert "Problem(" not in looked.detail


@pytest.mark.parametrize("url", ["", "  "])
def test_an_empty_url_is_said_to_be_empty(plan: Path, url: str, tmp_path: Path) -> None:
    result = web("record", plan, url)
    assert isinstance(result.exception, InputError)
    assert result.exception.message == "URL: it is empty"
    assert not (tmp_path / "kept").exists()


def test_a_status_that_may_pass_is_no_success(plan: Path, library: Library) -> None:
    library.down = True
    result = web("record", plan, library.pages[0])
    assert result.exit_code == 1
    assert "HTTP 503" in result.output
    assert "0 of 1 recorded" in result.output
    library.down = False
    assert web("record", plan, library.pages[0]).exit_code == 0
