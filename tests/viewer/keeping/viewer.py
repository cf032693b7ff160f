"""`toolablate view` as a process of its own, and a browser's part in raw HTTP."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Viewer:
    process: "subprocess.Popen[str]"
    url: str

    @property
    def base(self) -> str:
        return self.url.partition("/?")[0]

    def get(self, path: str = "/", *, token: bool = True) -> tuple[int, str]:
        """The status and the text; redirects are not followed."""
        return _answered(urllib.request.Request(self.base + path, headers=self._cookie if token else {}))

    def post(self, path: str, form: dict[str, str]) -> tuple[int, str]:
        """As a page of the viewer's own sends it."""
        headers = {**self._cookie, "Origin": self.base}
        return _answered(urllib.request.Request(self.base + path, urllib.parse.urlencode(form).encode(), headers))

    @property
    def _cookie(self) -> dict[str, str]:
        port = self.base.rpartition(":")[2]
        return {"Cookie": f"toolablate-{port}={self.url.partition('token=')[2]}"}

    def live(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.get("/live")[1])
        return content


class _Unfollowed(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _answered(request: urllib.request.Request) -> tuple[int, str]:
    try:
        with _OPENER.open(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Unfollowed)


def view(*arguments: str | Path, env: dict[str, str] | None = None) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "toolablate", "view", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )


@contextmanager
def viewing(store: Path, *options: str | Path, env: dict[str, str] | None = None) -> Iterator[Viewer]:
    """Serves until the end of the context, if it is not ended before; it must not have said anything but its address."""
    process = view(store, "--json", "--no-open", *options, env=env)
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line, process.stderr.read()
    try:
        yield Viewer(process, json.loads(line)["url"])
    finally:
        process.terminate()
        said = process.communicate(timeout=60)
    assert unexpected(*said) == ""


def unexpected(said: str, told: str) -> str:
    """All but that the first tables take a moment, on a busy machine."""
    return said + "".join(line for line in told.splitlines() if not line.startswith("Reading "))


def keepers(parent: int) -> list[int]:
    """The processes beside a viewer."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
