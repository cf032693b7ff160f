"""Joins a cluster of Ray, or starts one here; refuses, with what to do, what cannot be joined."""

import math
import os
import re
import secrets
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from toolablate.experiments.environment.web import Tell
from toolablate.experiments.plans.sections import ClusterSection
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install

LOCAL_WORKERS = 2
_ANSWER_SECONDS = 5.0
# A run without workers ends by itself, long before.
_HEAD_GONE_SECONDS = 24 * 3600


def join(section: ClusterSection, stack: AsyncExitStack | ExitStack, tell: Tell) -> None:
    """The stack leaves it. Raises InputError."""
    # Read when Ray is imported: nothing is reported to its makers, nobody without the token can run code, and this
    # process is not ended, without a word, where the head has been gone for a minute.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", str(_HEAD_GONE_SECONDS))
    address, local = section.address, section.address == "local"
    if find_spec("ray") is None:
        raise InputError("cluster: Ray is not installed", hint=to_install("cluster"), code="no_ray")
    mode = os.environ.get("RAY_AUTH_MODE")
    if local and not (mode == "token" and any(map(os.environ.get, _TOKENS))):
        # Ray's own would stay in the home folder, for all to read.
        stack.enter_context(_with_local_token())
    elif mode != "token":
        raise _no_token("this command" if mode is None else f"this command, with RAY_AUTH_MODE={mode!r},")
    _require_token_file()
    if not local and address != "auto":
        _require_answer(address)
    try:
        import ray
    except ImportError as error:
        told = f"cluster: Ray cannot be imported: {one_line(str(error), 200)}"
        raise InputError(told, hint=to_install("cluster"), code="no_ray") from None
    if ray.is_initialized():
        return
    tell("Starting Ray on this machine ..." if local else f"Joining the cluster ({address}) ...")
    try:
        if not local:
            _require_token()
            _require_same_token(address, tell)
        _enter(section)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - of many kinds, and all are about the address
        raise _other_versions(address, error) or _not_joined(address, error) from None
    stack.callback(ray.shutdown)
    _hush()


def _enter(section: ClusterSection) -> None:
    import ray

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "address": section.address}
    if section.address == "local":
        workers = section.workers or LOCAL_WORKERS
        options |= {"num_cpus": workers * max(1, math.ceil(section.cpus)), "include_dashboard": False}
    ray.init(**options)


@dataclass(frozen=True, slots=True)
class Head:
    """Of the cluster that this process is in, by its address and the cluster's id. Whoever asks Ray anything of the
    cluster waits for a head that is gone, and with it all that runs here; where there is another one by then, Ray ends
    the process. So it is looked at first."""

    address: str
    cluster: str

    def answers(self) -> bool:
        """Whether there is one, be it another."""
        try:
            _require_answer(self.address)
        except InputError:
            return False
        return True

    def is_there(self) -> bool:
        return self.answers() and self.is_the_same()

    def is_the_same(self) -> bool:
        """Of one that answers. True where this version of Ray offers nothing to find it out with."""
        import ray.exceptions

        try:
            from ray._raylet import GcsClient  # type: ignore[attr-defined]

            return not self.cluster or _cluster_of(GcsClient(address=self.address)) == self.cluster
        except ImportError:
            return True
        except ray.exceptions.RayError:
            return False


def head() -> Head:
    import ray
    import ray._private.worker as own

    return Head(str(ray.get_runtime_context().gcs_address), _cluster_of(getattr(own.global_worker, "gcs_client", None)))


def _cluster_of(client: Any) -> str:
    """Nothing where this version of Ray does not tell it."""
    return str(getattr(client, "cluster_id", ""))


def rejoin(section: ClusterSection, joined: Head) -> Head:
    """Where the head answers, but is another, or the node is gone by which this process joined: with it Ray counts the
    process as gone, and gives it no worker on any other. Raises whatever Ray does where there is no other node yet."""
    import ray

    if not (joined.is_the_same() and _is_in()):
        ray.shutdown()
        _enter(section)
    return head()


def _is_in() -> bool:
    import ray

    if not ray.is_initialized():
        return False
    # Nothing is asked of a node that is gone.
    own = ray.get_runtime_context().get_node_id()
    return any(identity == own for identity, _, _ in nodes())


def _hush() -> None:
    """Of a lost node Ray would print the end of its log into the run's progress. The fleet tells what was lost."""
    import ray._private.worker as printing

    if hasattr(printing, "print_to_stdstream"):
        printing.print_to_stdstream = lambda *_, **__: None


def nodes() -> list[tuple[str, str, float]]:
    """Of those that are alive the id, a name and the processors."""
    import ray

    # Ray names no types for it.
    listed: Any = ray.nodes
    return [
        (node["NodeID"], f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})", _cpus(node))
        for node in listed()
        if node["Alive"]
    ]


def _cpus(node: Any) -> float:
    return float(node["Resources"].get("CPU", 0))


# Tokens.

_TOKENS = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


@contextmanager
def _with_local_token() -> Iterator[None]:
    """Ray and the nodes that it starts read it from the environment; who joins another cluster later has its own."""
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": _local_token()}
    before = {name: os.environ[name] for name in own if name in os.environ}
    os.environ.update(own)
    try:
        yield
    finally:
        for name in own:
            os.environ.pop(name, None)
        os.environ.update(before)


@cache
def _local_token() -> str:
    """One for this process, since Ray reads it once."""
    return secrets.token_hex(32)


def _no_token(who: str) -> InputError:
    return InputError(
        f"cluster: whoever reaches the ports of a Ray cluster without a token can run code there, and {who} has none",
        hint=f"make a file with a token and copy it to each node: {_make_token('~/ray.token')}; then start each node,"
        " and this command, after: export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=~/ray.token",
        code="no_token",
    )


def _make_token(path: str) -> str:
    """The command that makes a file with a token, which nobody else can read. One that is there would keep its mode."""
    return f'(umask 077 && rm -f {path} && python -c "import secrets; print(secrets.token_hex(32))" > {path})'


def _require_token_file() -> None:
    """Ray itself ends the process where its file is not there. Raises InputError."""
    path = os.environ.get("RAY_AUTH_TOKEN_PATH", "")
    if os.environ.get("RAY_AUTH_TOKEN") or not path:
        return
    try:
        wrong = "" if Path(path).read_text(encoding="utf-8").strip() else "is empty"
    except (OSError, UnicodeDecodeError) as error:
        wrong = f"cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}"
    if wrong:
        raise InputError(
            f"cluster: RAY_AUTH_TOKEN_PATH names {path}, which {wrong}",
            hint=f"name the file that the nodes have, or make one and take it to all of them: "
            f"{_make_token(shlex.quote(path))}",
            code="no_token",
        )


def _require_token() -> None:
    """Ray itself ends the process, with a trace of its own, where there is none at all. Raises InputError."""
    if any(map(os.environ.get, _TOKENS)):
        return
    found = ""
    with suppress(OSError, UnicodeDecodeError):
        found = Path("~/.ray/auth_token").expanduser().read_text(encoding="utf-8").strip()
    if not found:
        raise _no_token("this command")


def _require_same_token(address: str, tell: Tell) -> None:
    """Raises InputError where the cluster takes another token, which Ray itself tells only in its log, and where it
    takes any, which Ray does not tell: its workers are not heard then. Where neither can be found out that is told."""
    import ray.exceptions

    try:
        # No others offer this, and without them all it takes is Ray's own 20 s and words.
        from ray._private.services import canonicalize_bootstrap_address
        from ray._raylet import GcsClient  # type: ignore[attr-defined]
    except ImportError:
        tell(_unchecked(address, "this version of Ray offers nothing to ask it with"))
        return
    found = canonicalize_bootstrap_address(address)
    if found is None:
        raise no_cluster(address, "no Ray runs on this machine")
    if address == "auto":
        _require_answer(found)
    try:
        GcsClient(address=found)
    except ray.exceptions.AuthenticationError as error:
        raise InputError(
            f"cluster.address: the cluster at {found!r} does not take the token of this command:"
            f" {one_line(str(error).partition('. ')[0], 120)}",
            hint="use the token of its nodes: export RAY_AUTH_TOKEN_PATH=..., and unset RAY_AUTH_TOKEN",
            code="cluster_token",
        ) from None
    match _with_a_wrong_token(found, _PROBE):
        case "taken":
            raise _no_token(f"the one at {found!r}")
        case "refused":
            return
        case why:
            tell(_unchecked(found, why))


def _unchecked(address: str, why: str) -> str:
    return (
        f"Warning: whether the cluster at {address} demands its token could not be found out: {why}. If it does not,"
        " whoever reaches its ports can run code there"
    )


# Whatever else happens there says neither.
_PROBE = """
import sys
import ray.exceptions
from ray._raylet import GcsClient
try:
    GcsClient(address=sys.argv[1])
except ray.exceptions.AuthenticationError:
    print("refused")
else:
    print("taken")
"""
_PROBE_SECONDS = 60.0


def _with_a_wrong_token(address: str, probe: str) -> str:
    """ "taken", "refused", or why neither is known. In a process of its own, since Ray reads a token once."""
    passed = {name: value for name, value in os.environ.items() if name != "RAY_AUTH_TOKEN_PATH"}
    try:
        tried = subprocess.run(
            [sys.executable, "-c", probe, address],
            env={**passed, "RAY_AUTH_TOKEN": secrets.token_hex(32)},
            capture_output=True,
            text=True,
            check=False,
            timeout=_PROBE_SECONDS,
            # What Ctrl-C did to it would count as what it found.
            process_group=0,
        )
    except subprocess.TimeoutExpired:
        return f"it has not answered within {_PROBE_SECONDS:.0f} s"
    if (said := tried.stdout.strip()) in ("taken", "refused"):
        return said
    lines = tried.stderr.strip().splitlines() or [f"the process that tried it ended with {tried.returncode}"]
    return one_line(lines[-1], 200)


# Addresses. Ray itself would try for minutes, where nothing answers and where something does that is no Ray.


# What every client of HTTP/2 says first, with no settings of its own; a server answers with its settings
# (RFC 9113, sections 3.4 and 6.5).
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_FRAME_BYTES, _SETTINGS = 9, 4


def _require_answer(address: str) -> None:
    host, _, port = address.rpartition(":")
    answer = b""
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_SECONDS) as connection:
            if os.environ.get("RAY_USE_TLS") == "1":
                return
            connection.sendall(_HELLO)
            while len(answer) < _FRAME_BYTES and (more := connection.recv(_FRAME_BYTES - len(answer))):
                answer += more
    except TimeoutError:
        raise no_cluster(address, f"nothing answers within {_ANSWER_SECONDS:.0f} s") from None
    except (OSError, UnicodeError) as error:
        # The second of a host's name that cannot be one.
        raise no_cluster(address, str(error)) from None
    if len(answer) < _FRAME_BYTES or answer[3] != _SETTINGS:
        raise no_cluster(address, "what answers there is no Ray")


def no_cluster(address: str, why: str) -> InputError:
    return InputError(
        f"cluster.address: there is no cluster to join at {address!r}: {why}",
        hint='start one with `ray start --head`, and run this on one of its nodes; or try address = "local"',
        code="no_cluster",
    )


def _not_joined(address: str, error: Exception) -> InputError:
    return no_cluster(address, f"{type(error).__name__}: {one_line(str(error), 300)}")


def _other_versions(address: str, error: Exception) -> InputError | None:
    """None where that is not what is wrong. Ray tells of both in a line each, in its text alone."""
    told = [f"{name} {version}" for name, version in re.findall(r"\b(Ray|Python): (\S+)", str(error))]
    if len(told) != 4:
        return None
    there, here = " and ".join(told[:2]), " and ".join(told[2:])
    return InputError(
        f"cluster.address: the cluster at {address!r} has {there}, this command {here}",
        hint="run this with the Python and Ray of its nodes, or start these with those of this command",
        code="cluster_versions",
    )


def too_few_cpus(section: ClusterSection, there: Sequence[tuple[str, float]] | None = None) -> InputError:
    """`there` are the nodes by name with their CPUs; by default those of the cluster that this process is in."""
    return InputError(
        f"cluster: no node can have a worker, which {what_nodes_have(section, there)}",
        hint="start Ray on nodes that have as many, or wait until they have joined; or lower cluster.cpus",
        code="too_few_cpus",
    )


def what_nodes_have(section: ClusterSection, there: Sequence[tuple[str, float]] | None = None) -> str:
    """`there` as in `too_few_cpus`."""
    if there is None:
        there = [(name, cpus) for _, name, cpus in nodes()]
    has = ", ".join(f"{name} has {_counted(cpus)}" for name, cpus in there) or "Ray shows no node"
    return f"needs {_counted(section.cpus)} (cluster.cpus): {has}"


def _counted(cpus: float) -> str:
    return f"{cpus:g} CPU{'' if cpus == 1 else 's'}"
