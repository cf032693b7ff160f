"""What a plan says about the web: modes and their archive, search, and servers of tools."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.experiments.plans.test_plan import MINIMAL, load

from toolablate.traces.errors import InputError
from toolablate.traces.records import InterventionUse

REPLAY = '[web]\nmode = "replay"\narchive = "frozen"\n'


def test_the_web_is_live_unless_the_plan_says_so(tmp_path: Path) -> None:
    web = load(tmp_path, MINIMAL).web
    assert (web.mode, web.archive, web.robots, web.delay_seconds, web.until) == ("live", "", True, 1.0, None)


def test_an_archive_is_a_folder_relative_to_the_plan(tmp_path: Path) -> None:
    assert Path(load(tmp_path, MINIMAL + REPLAY).web.archive) == tmp_path / "frozen"


@pytest.mark.parametrize(
    ("written", "until"),
    [
        ("2026-01-01", datetime(2026, 1, 1, 23, 59, 59, 999999, tzinfo=UTC)),
        ("2026-01-01T12:00:00", datetime(2026, 1, 1, 12, tzinfo=UTC)),
        ("2026-01-01T12:00:00+02:00", datetime(2026, 1, 1, 10, tzinfo=UTC)),
        ('"2026-01-01T12:00:00Z"', datetime(2026, 1, 1, 12, tzinfo=UTC)),
        ('"2026-01-01"', datetime(2026, 1, 1, 23, 59, 59, 999999, tzinfo=UTC)),
    ],
)
def test_a_date_counts_whole_and_times_are_utc(tmp_path: Path, written: str, until: datetime) -> None:
    assert load(tmp_path, f"{MINIMAL}{REPLAY}as_of = {written}\n").web.until == until


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ('[web]\nmode = "replay"', r'web\.archive: missing; mode = "replay" needs a folder'),
        ('[web]\nmode = "record"', r'web\.archive: missing; mode = "record" needs a folder'),
        ('[web]\nmode = "reply"', r"web\.mode: found 'reply', allowed is 'live', 'record' or 'replay'"),
        ("[web]\nas_of = 2026-01-01", r'web\.as_of: only mode = "replay"'),
        ('[web]\nmode = "record"\narchive = "a"\nas_of = 2026-01-01', r'web\.as_of: only mode = "replay"'),
        (REPLAY + 'as_of = "soon"', r"plan\.toml: web\.as_of: should be a day or a moment, as in as_of = 2026-01-01; found 'soon'$"),
        (REPLAY + "as_of = 2026", r"web\.as_of: should be a day or a moment, as in as_of = 2026-01-01; found '2026'$"),
        (REPLAY + "as_of = 12:00:00", r"web\.as_of: should be a day or a moment, .*; found '12:00:00'$"),
        ('[web]\nrobots = "yes"', r"web\.robots: .*valid boolean; found 'yes'"),
        ("[web]\nblock_leaks = 1", r"web\.block_leaks: .*valid boolean; found 1"),
        ('[web]\nallow = ["127.0.0.1"]', r"web\.allow: '127\.0\.0\.1' is not host:port"),
        ('[web]\nallow = ["http://intranet:80/"]', r"web\.allow: 'http://intranet:80/'"),
        ('[web]\nallow = ["::1:80"]', r"web\.allow: '::1:80'"),
        ("[web]\nports = [70000]", r"web\.ports\[0\]: .*less than 65536; found 70000"),
        ("[web]\ndelay_seconds = -1", r"web\.delay_seconds: .*greater than or equal to 0; found -1"),
        ('[web]\nblocked_hosts = ["https://example.org"]', r"web\.blocked_hosts: 'https://example\.org'"),
        ('[web]\nrobot = true', r"web\.robot: unknown key; did you mean 'robots'"),
        ('[search]\nprovider = "corpus"', r"search\.corpus: missing"),
        ('[search]\nprovider = "searxng"', r"search\.endpoint: missing; name the SearXNG"),
        ('[search]\nprovider = "google"', r"search\.provider: there is no provider 'google'; there are corpus, .*searxng"),
        ('[[mcp]]\nname = "files"', r"mcp: 'files' needs either command"),
        ('[[mcp]]\nname = "f"\ncommand = ["a"]\nurl = "http://b"', r"mcp: 'f' needs either command"),
        ('[[mcp]]\nname = "f"\nurl = "http://b"\nenv = ["T"]', r"mcp: 'f' has a url, and `env` and `folder` are for commands"),
        ('[[mcp]]\nname = "f"\ncommand = ["b"]\nheaders = { A = "B" }', r"mcp: 'f' has a command, and `headers`"),
        ('[[mcp]]\nname = "my files"\ncommand = ["a"]', r"mcp\[0\]\.name: .*pattern"),
        ('[[mcp]]\nname = "f"\ncommand = "python"', r"mcp\[0\]\.command: should be a list; found 'python'"),
        ('[[mcp]]\nname = "f"\nurl = "http://a"\n[[mcp]]\nname = "f"\nurl = "http://b"', r"mcp: the name 'f' is used twice"),
    ],
)  # fmt: skip
def test_a_mistake_about_the_web_is_named(tmp_path: Path, added: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, f"{MINIMAL}{added}\n")
    assert re.search(expected, str(caught.value), re.DOTALL), str(caught.value)


def test_allowed_hosts_may_be_of_either_address_family(tmp_path: Path) -> None:
    allowed = ("127.0.0.1:8000", "[::1]:8000", "intranet.example:80")
    assert load(tmp_path, f"{MINIMAL}[web]\nallow = {list(allowed)}\n").web.allow == allowed


def test_a_server_is_started_in_the_plans_folder_or_below(tmp_path: Path) -> None:
    servers = '[[mcp]]\nname = "a"\ncommand = ["x"]\n[[mcp]]\nname = "b"\ncommand = ["x"]\nfolder = "sub"\n'
    first, second = load(tmp_path, MINIMAL + servers).mcp
    assert (Path(first.folder), Path(second.folder)) == (tmp_path, tmp_path / "sub")


def test_an_intervention_is_part_of_what_a_condition_is(tmp_path: Path) -> None:
    entry = '"python"]', '{ name = "python", interventions = ["spotlight", { name = "x", options = { n = 1 } }] }]'
    plain = load(tmp_path, MINIMAL).resolved_conditions()[1]
    changed = load(tmp_path, MINIMAL.replace(*entry)).resolved_conditions()[1]
    assert changed.interventions == (InterventionUse(name="spotlight"), InterventionUse(name="x", options={"n": 1}))
    assert changed.tools == plain.tools
    assert changed.identity() != plain.identity()
