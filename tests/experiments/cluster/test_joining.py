"""What answers at the address of a cluster, and what does not."""

import socket
import threading
from collections.abc import Iterator

import pytest

from toolablate.experiments.cluster import joining
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


@pytest.mark.parametrize("says", [SETTINGS], indirect=True)
def test_what_speaks_as_ray_does_is_taken_for_it(says: str) -> None:
    joining._require_answer(says)
