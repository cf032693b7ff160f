"""The server that benchmarks talk to."""

import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from bench.runner.processes import serving


def test_of_the_requests_of_a_key_only_so_many_are_replied_to_until_more_are() -> None:
    asked = json.dumps({"messages": [{"role": "user", "content": "Item 1."}]}).encode()
    with serving() as served, ThreadPoolExecutor(3) as threads:

        def ask(key: str) -> bytes:
            with urllib.request.urlopen(f"{served.url(key)}/chat/completions", asked, timeout=100) as reply:
                return bytes(reply.read())

        served.answer("held", 2)
        waiting = [threads.submit(ask, "held") for _ in range(3)]
        assert b"Answer" in ask("another")
        while len(served.watch("held").came) < 3:
            pass
        assert len(served.watch("held").left) == 2
        served.answer("held", 3)
        assert all(b"Answer" in each.result() for each in waiting)
