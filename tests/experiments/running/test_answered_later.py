"""A trial that failed while its replies were recorded, and what another trial got later for the same request."""

from pathlib import Path

from tests.conftest import Cli
from tests.experiments.plan_files import endpoint_plan, right
from tests.servers.chat_server import ChatServer, Status

ALIKE = "conditions = ['none', { name = 'patient', base = 'none', budget = { turns = 24 } }]"


def test_a_replay_answers_what_had_failed_and_says_so_until_the_recording_is_run_again(
    chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    refused = iter([Status(500)])
    chat_server.answers(lambda body: next(refused, None) or right(body))

    def run(mode: str) -> tuple[int, Path]:
        plan = endpoint_plan(
            tmp_path, chat_server.url, count=2, concurrency=1, extra=f"store = '{mode}.sqlite'\n{ALIKE}"
        )
        text = plan.read_text(encoding="utf-8").replace("conditions = ['none']\n", "")
        sections = f"[replies]\nmode = '{mode}'\n[runner]\nattempts = 1\n"
        plan.write_text(text.replace("[questions]", f"{sections}[questions]"), encoding="utf-8")
        return cli("run", plan).returncode, tmp_path / f"{mode}.sqlite"

    failed, recorded = run("record")
    answered, replayed = run("replay")
    assert (failed, answered) == (1, 0)
    compared = cli("verify", replayed, "--same-as", recorded)
    assert compared.returncode == 1
    assert "3 of 4 trials are the same" in compared.stdout
    assert "failed there, answered here: the cache got the reply later" in compared.stdout
    assert run("record") == (0, recorded)
    assert cli("verify", replayed, "--same-as", recorded).returncode == 0
    assert len(chat_server.requests) == 3


def test_partial_is_for_a_comparison(tmp_path: Path, cli: Cli) -> None:
    refused = cli("verify", tmp_path / "any.sqlite", "--partial")
    assert (refused.returncode, "--same-as" in refused.stderr) == (2, True)
