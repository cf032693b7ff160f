"""`toolablate view` as a user calls it, asked for its pages one after the other."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from bench.viewer.figure import Figure, Took, figure

from toolablate.analysis.selection import Selection
from toolablate.viewer.index import Facets
from toolablate.viewer.selection import questions_address, trial_address

TIMES = 10
AIM_MS = 1000.0


@dataclass(slots=True)
class Viewer:
    """One that serves, and the seconds after which it said where."""

    process: int
    url: str
    started: float
    cookie: str = ""

    def page(self, address: str) -> Took:
        used, began = self._used(), time.perf_counter()
        status, body = self._answer(address)
        assert status in (200, 303), (status, address, body[:200])
        return Took(time.perf_counter() - began, self._used() - used)

    def wait_for(self, address: str) -> None:
        """Until the index, which is filled while the viewer serves, has what the address names."""
        until = time.monotonic() + 60
        while self._answer(address)[0] == 400:
            assert time.monotonic() < until, f"{address}: the index has not what it names"
            time.sleep(0.1)

    def _answer(self, address: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        try:
            connection.request("GET", address, headers={"Cookie": self.cookie} if self.cookie else {})
            answer = connection.getresponse()
            body = answer.read()
            self.cookie = self.cookie or (answer.headers["Set-Cookie"] or "").partition(";")[0]
            return answer.status, body
        finally:
            connection.close()

    def _used(self) -> float:
        """Seconds of processor time of the server, to the hundredth."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def viewing(store: Path, cache: Path, *options: object) -> Iterator[Viewer]:
    """With an index of its own, which is made first; `options` are the command's."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "toolablate", "view", str(store), "--no-open", "--json", *map(str, options)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            viewer = Viewer(process.pid, url, time.perf_counter() - began)
            viewer.page(f"/?{urlsplit(url).query}")
            yield viewer
        finally:
            process.send_signal(signal.SIGINT)


def addresses(facets: Facets, pages: int) -> Mapping[str, list[str]]:
    """Kinds of pages of the table, each with addresses."""
    model, condition, tool = (list(each)[-1] for each in (facets.models, facets.conditions, facets.tools))
    domain, difficulty = list(facets.domains)[-1], list(facets.difficulties)[-1]
    one = [
        *(Selection(models=(model,)), Selection(conditions=(condition,)), Selection(domains=(domain,))),
        *(Selection(difficulties=(difficulty,)), Selection(endings=("wrong",)), Selection(tools=(tool,))),
        *(Selection(flips=("right_to_wrong",)), Selection(flips=("wrong_to_right",))),
    ]
    texts = [Selection(text=text) for text in ("e", "energy", "ENTROPY falls", "not anywhere")]
    several = [
        Selection(models=(model,), conditions=(condition,), endings=("wrong",)),
        Selection(domains=(domain,), flips=("right_to_wrong",), text="rate"),
        Selection(conditions=(condition,), flips=("right_to_wrong",), tools=(tool,), difficulties=(difficulty,)),
    ]
    sorts = ("name", "difficulty", "delta", "-score", "spread", "-tokens", "cost")
    return {
        "first page": [questions_address(Selection())],
        "filtered by one facet": [questions_address(each) for each in one],
        "filtered by text": [questions_address(each) for each in texts],
        "filtered by several": [questions_address(each) for each in several],
        "sorted": [questions_address(Selection(), sort=sort) for sort in sorts],
        "failures": ["/failures", "/failures?by=cluster", "/failures?by=question&by=condition"],
        "last page": [questions_address(Selection(), page=pages), questions_address(one[4], page=pages)],
    }


def measure_pages(viewer: Viewer, kinds: Mapping[str, list[str]], long_trial: str) -> list[Figure]:
    """What each address takes the first time, when nothing of it is remembered, and after that."""
    for address in kinds["filtered by one facet"]:
        viewer.wait_for(f"{address}&sort=name")
    found = [figure("overview", [viewer.page("/") for _ in range(TIMES)], AIM_MS)]
    for what, of_kind in kinds.items():
        first = [viewer.page(address) for address in of_kind]
        again = [viewer.page(address) for _ in range(TIMES) for address in of_kind]
        found.append(figure(f"{what}, the first time", first, AIM_MS))
        found.append(figure(what, again, AIM_MS))
    address = trial_address(long_trial)
    found.append(figure("a trace of 1,000 events", [viewer.page(address) for _ in range(TIMES)], AIM_MS))
    return found
