"""What answers at the address of a cluster, and what does not."""

import os
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from toolablate.experiments.cluster import joining
from toolablate.experiments.plans.sections import ClusterSection
from toolablate.traces.errors import InputError

SETTINGS = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))


@pytest.fixture
def says(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that says this to each who comes, and then waits."""
    server, open_ones = socket.create_server(("127.0.0.1", 0)), list[socket.socket]()

    def serve() -> None:
        while True:
            try:
                open_ones.append(server.accept()[0])
            except OSError:
                return
            open_ones[-1].sendall(request.param)

    threading.Thread(target=serve, daemon=True).start()
    yield f"127.0.0.1:{server.getsockname()[1]}"
    server.shutdown(socket.SHUT_RDWR)
    for each in (server, *open_ones):
        each.close()


@pytest.mark.parametrize(
    ("says", "told"),
    [(b"", "nothing answers within"), (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is no Ray"), (b"SSH", "nothing answers")],
    indirect=["says"],
)
def test_what_is_no_cluster_is_refused_soon(says: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_ANSWER_SECONDS", 0.05)
    with pytest.raises(InputError, match=told) as refused:
        joining._require_answer(says)
    assert (refused.value.code, says in refused.value.message) == ("no_cluster", True)


@pytest.mark.parametrize("host", ["node..1", "n" * 64])
def test_a_name_that_no_host_can_have_is_refused(host: str) -> None:
    with pytest.raises(InputError, match="no cluster to join") as refused:
        joining._require_answer(f"{host}:6379")
    assert refused.value.code == "no_cluster"


@pytest.mark.parametrize("says", [SETTINGS], indirect=True)
def test_what_speaks_as_ray_does_is_taken_for_it(says: str) -> None:
    joining._require_answer(says)


@pytest.mark.parametrize(
    ("probe", "found"),
    [
        ("print('taken')", "taken"),
        ("print('refused')", "refused"),
        # Ctrl-C in a terminal reaches it not: it would count as what was found.
        ("import os; print('refused' if os.getpgrp() == os.getpid() else 'taken')", "refused"),
        ("raise SystemExit(3)", "the process that tried it ended with 3"),
        ("import no_such_ray", "ModuleNotFoundError: No module named 'no_such_ray'"),
        ("import time; time.sleep(100)", "it has not answered within 1 s"),
    ],
)
def test_a_token_counts_as_demanded_only_where_a_wrong_one_was_refused(
    probe: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "_PROBE_SECONDS", 1.0 if "sleep" in probe else 100.0)
    assert joining._with_a_wrong_token("127.0.0.1:1", probe) == found
    assert "could not be found out" in joining._unchecked("127.0.0.1:1", found)


@pytest.mark.parametrize(
    ("held", "told"), [(None, "cannot be read: No such file"), ("", "is empty"), (b"\xff", "no text")]
)
def test_a_file_without_a_token_is_refused_before_ray_reads_it(
    held: str | bytes | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray ends the process then."""
    path = tmp_path / "ray.token"
    if held is not None:
        path.write_bytes(held if isinstance(held, bytes) else held.encode())
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(path))
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    with ExitStack() as stack, pytest.raises(InputError, match=told) as refused:
        joining.join(ClusterSection(address="auto"), stack, print)
    assert refused.value.code == "no_token"
    assert f"> {path}" in refused.value.hint


def test_the_mode_without_a_token_is_refused_before_ray_looks_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray ends the process then, with a trace of its own."""
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    with ExitStack() as stack, pytest.raises(InputError, match="this command has none"):
        joining.join(ClusterSection(address="auto"), stack, lambda _: None)


def test_where_no_ray_runs_auto_says_so_in_our_words(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.setattr("ray._private.services.canonicalize_bootstrap_address", lambda address: None)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "a" * 64)
    with ExitStack() as stack, pytest.raises(InputError) as refused:
        joining.join(ClusterSection(address="auto"), stack, lambda _: None)
    assert refused.value.message.endswith("there is no cluster to join at 'auto': no Ray runs on this machine")


def test_who_has_no_token_is_told_how_to_make_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with ExitStack() as stack, pytest.raises(InputError) as refused:
        joining.join(ClusterSection(address="auto"), stack, print)
    assert refused.value.code == "no_token"
    made = re.search(r"\(.*\)", refused.value.hint)
    assert made is not None
    token = tmp_path / "ray.token"
    # One that others can read.
    token.touch(0o644)
    token.chmod(0o644)
    subprocess.run(["bash", "-euc", made[0]], env={**os.environ, "HOME": str(tmp_path)}, check=True)
    assert len(token.read_text(encoding="utf-8").strip()) == 64
    assert token.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"RAY_AUTH_TOKEN": "of another cluster"},
        {"RAY_AUTH_MODE": "disabled"},
        {"RAY_AUTH_MODE": "token"},
    ],
)
def test_a_local_cluster_has_a_token_of_its_own_until_its_end(
    given: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in Ray's mode `token`: Ray would make one in the home folder, which others can read."""
    pytest.importorskip("ray")
    monkeypatch.setattr("ray.is_initialized", lambda: True)
    names = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with ExitStack() as stack:
        joining.join(ClusterSection(address="local"), stack, print)
        assert (os.environ["RAY_AUTH_MODE"], len(os.environ["RAY_AUTH_TOKEN"])) == ("token", 64)
    assert {name: os.environ[name] for name in names if name in os.environ} == given
