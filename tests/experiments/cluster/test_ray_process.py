"""The process of a worker on Ray, and why it was lost, in plain words."""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from toolablate.experiments.cluster.messages import WorkerLost
from toolablate.experiments.cluster.on_ray import _reason, _unpacked
from toolablate.traces.errors import InputError

pytest.importorskip("ray")

from ray.core.generated.common_pb2 import ActorDiedErrorContext
from ray.exceptions import ActorDiedError, ActorUnavailableError, RayTaskError

FENCED = "it was not listened to, and has ended its trials"


def raised_there(error: Exception) -> Exception:
    """As a driver gets what a worker's method has raised."""
    stack = f'Traceback (most recent call last):\n  File "worker.py", line 1, in take\n{type(error).__module__}.'
    task = RayTaskError("take", f"{stack}{type(error).__name__}: {error}", error, "ray::take", 7, "10.0.0.7")
    made: Exception = task.as_instanceof_cause()
    return made


def died(why: str) -> Exception:
    context = ActorDiedErrorContext(class_name="RayWorker", actor_id=b"a" * 16, pid=7, error_message=why)
    return ActorDiedError(context)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (lambda: raised_there(WorkerLost(FENCED)), FENCED),
        (
            lambda: raised_there(InputError("no such file", code="x")),
            "toolablate.traces.errors.InputError: no such file",
        ),
        (
            lambda: died(
                "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit"
                " detail: Worker unexpectedly exits with a connection error code 2. End of file."
            ),
            "its process ended",
        ),
        (
            lambda: died(
                "The actor died because its node has died. Node Id: 12ab\n\tthe actor's node was terminated"
                " unexpectedly: health check failed due to missing too many heartbeats"
            ),
            "nothing is heard of it any more",
        ),
        (lambda: ActorUnavailableError("RpcError: UNAVAILABLE", b"a" * 16), "it cannot be reached any more"),
    ],
)
def test_why_a_worker_was_lost_is_said_in_plain_words(error: Callable[[], Exception], said: str) -> None:
    assert _reason(error()) == said


@pytest.mark.parametrize("drivers", [None, "4"])
def test_users_tools_find_the_threads_that_the_driver_has(monkeypatch: pytest.MonkeyPatch, drivers: str | None) -> None:
    # As Ray sets it for its workers.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert _unpacked(pickle.dumps("opener"), drivers) == "opener"
    assert os.environ.get("OMP_NUM_THREADS") == drivers


def test_what_users_tools_start_can_be_interrupted_and_ctrl_c_does_not_end_the_worker() -> None:
    before = signal.getsignal(signal.SIGINT)
    # As Ray has it in its workers.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        _unpacked(pickle.dumps("opener"), None)
        os.kill(os.getpid(), signal.SIGINT)
        asks = "import signal; print(signal.pthread_sigmask(0, []), signal.getsignal(2) is signal.default_int_handler)"
        asked = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True)
    finally:
        signal.signal(signal.SIGINT, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    assert asked.stdout == "set() True\n"
