import socket

import pytest


@pytest.mark.filterwarnings("ignore:A test tried to use:UserWarning")
def test_tests_reach_no_other_machine() -> None:
    with socket.socket() as outside, pytest.raises(RuntimeError, match=r"127\.0\.0\.1"):
        outside.connect(("192.0.2.1", 80))


def test_tests_reach_their_own_machine() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()):
        pass
