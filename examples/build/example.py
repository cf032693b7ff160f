"""Makes two benchmarks of a small forum and a small book, and ablates a simulated student on them.

    python examples/build/example.py

Forum, models and judge are one server of this process; every other step is a command of toolablate, printed as it is
run. `--record` writes the decisions anew, where a text changed that people had decided on.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import rmtree
from typing import Any
from urllib.parse import parse_qs, urlsplit

from facts import CANNOT_STAND_ALONE, STILL_TRUE, TABLES, Fact
from forum import latest, topic
from simulated import Student, judged, written

FOLDER = Path(__file__).parent
PORT = 18440
STUDENT = Student()


class Server(BaseHTTPRequestHandler):
    """Discourse for GET, Chat Completions for POST."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        if asked.path == "/latest.json":
            return self._send(latest(int(parse_qs(asked.query)["page"][0])))
        name = asked.path.removeprefix("/t/").removesuffix(".json")
        found = topic(int(name)) if name.isdecimal() else None
        return self._send(found or {"errors": ["not found"]}, 200 if found else 404)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages, model = asked["messages"], asked["model"]
        if model == "simulated-student":
            message = STUDENT.reply(messages, bool(asked.get("tools")) and asked.get("tool_choice") != "none")
        else:
            message = {"content": judged(messages) if model == "simulated-judge" else written(messages)}
        choice = {
            "index": 0,
            "message": {"role": "assistant", **message},
            "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
        }
        read, wrote = len(json.dumps(messages)) // 4, len(json.dumps(message)) // 4
        usage = {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}
        reply = {"id": "simulated", "object": "chat.completion", "created": 0, "model": model, "choices": [choice]}
        self._send(reply | {"usage": usage})

    def _send(self, value: Any, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""


@contextmanager
def served() -> Iterator[None]:
    try:
        server = ThreadingHTTPServer(("127.0.0.1", PORT), Server)
    except OSError as error:
        raise SystemExit(
            f"port {PORT} of this machine cannot be had ({error.strerror}): is the example running?"
        ) from None
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()


def write_book() -> None:
    """Pages of five statements each, and the statements as people cut them out, with six that cannot stand alone."""
    pages, statements = [], []
    for table in TABLES:
        facts = [Fact(table, subject) for subject in table.values]
        for number, some in enumerate((facts[:5], facts[5:]), start=1):
            page = f"{len(pages) + 1}"
            text = "\n".join(fact.sentence(fact.value) for fact in some)
            pages.append({"title": f"{table.name}, part {number}", "text": text})
            statements += [_row(fact.statement, table.discipline, table.field, page) for fact in some]
    pages.append({"title": "Errata", "text": "\n".join(text.partition("\n")[2] for text in STILL_TRUE)})
    more = [*STILL_TRUE, *CANNOT_STAND_ALONE]
    statements += [_row(text, "Science", "Chemistry", f"{len(pages)}") for text in more]
    _write("data/pages.jsonl", pages)
    _write("data/statements.jsonl", statements)


def _row(text: str, discipline: str, field: str, page: str) -> dict[str, str]:
    return {"text": text, "discipline": discipline, "field": field, "book": "A small book of numbers", "page": page}


def _write(name: str, rows: Sequence[Any]) -> None:
    lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    (FOLDER / name).write_text(lines, encoding="utf-8")


# What people said: Ann and Ben read each item, Cleo where they differ. They are MADE UP, as the forum is.

TOO_EASY = ("acetonitrile", "maize")
DIFFER = ("benzene", "SNMP", "Callisto")
MENDED = {
    "the horse": {"question": "How many chromosomes are in a body cell of the horse? The domestic one is meant."},
    "tungsten": {"text": "Tungsten:\nAs a pure metal tungsten melts at 1184.6 °C under normal pressure."},
}


def decided(waiting: dict[str, Any], seconds: int) -> Iterator[dict[str, Any]]:
    content = waiting["content"]
    text = content.get("question") or content["text"]
    of_thread = "question" in content
    said: dict[str, Any] = {"verdict": "accept"}
    if of_thread and any(name in text for name in TOO_EASY):
        said = {"verdict": "reject", "reason": "no long tail: any handbook opens at it"}
    if not of_thread and text.startswith(("Ice:", "Moved for good:")):
        said = {"verdict": "reject", "reason": "true as well"}
    key = next((name for name, mend in MENDED.items() if name in text and mend.keys() <= content.keys()), "")
    if key:
        said = {"verdict": "mend", "content": MENDED[key]}
    about = {"item": waiting["item"][:12], "seen": waiting["seen"]}
    yield {**about, "reviewer": "ann", **said, "seconds": 20 + seconds}
    differ = any(name in text for name in DIFFER)
    doubt = {"verdict": "reject", "reason": "two sources differ in the last digit"}
    yield {**about, "reviewer": "ben", **(doubt if differ else said), "seconds": 25 + seconds * 7 % 40}
    if differ:
        yield {**about, "reviewer": "cleo", "verdict": "accept", "seconds": 90}


# The commands.


def run(*command: str, of: str = "") -> str:
    """Prints a command, and what it prints; with `of` only how much."""
    print(f"\n$ toolablate {' '.join(command)}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "toolablate", *command], cwd=FOLDER, stdout=subprocess.PIPE, text=True, check=False
    )
    print(f"({len(done.stdout.splitlines())} {of})" if of else done.stdout, flush=True)
    if done.returncode:
        raise SystemExit(f"`toolablate {' '.join(command)}` ended with {done.returncode}")
    return done.stdout


def main(*, record: bool = False) -> None:
    began = time.monotonic()
    for name in ("data", "runs"):
        rmtree(FOLDER / name, ignore_errors=True)
    (FOLDER / "data").mkdir()
    write_book()
    with served():
        run("build", "threads", "forums.toml")
        for kind in ("questions", "statements"):
            pipeline, decisions = f"{kind}.toml", f"decisions_on_{kind}.jsonl"
            run("build", pipeline)
            waiting = run("build", "decide", pipeline, of="items wait for people")
            if record:
                items = map(json.loads, waiting.splitlines())
                _write(decisions, [each for n, item in enumerate(items) for each in decided(item, n % 30)])
            run("build", "decide", pipeline, decisions)
            run("build", pipeline)
        run("lpfqa", "import", "data/questions/lpfqa.jsonl", "-o", "data/imported.jsonl")
        # Questions that share a statement are one to a test: three of ten statements give each of the eighteen its own.
        sizes = ("--statements", "3", "3", "--options", "3", "3", "--combination", "1", "2", "--questions", "18")
        run("encyclo-k", "compose", "data/book/statements.jsonl", "-o", "data/composed.jsonl", *sizes)
        for name in ("forum", "book"):
            run("run", f"{name}_plan.toml")
            run("compare", f"runs/{name}.sqlite")
            replayed = ("--replay", "--failures", "0.3", "--successes", "0", "--precision", "0.5")
            run("attribute", f"runs/{name}.sqlite", "--condition", "falsified", *(replayed if name == "book" else ()))
            run("report", f"runs/{name}.sqlite", "-o", f"runs/{name}.html", "--figures", f"runs/{name}-figures")
    print(f"\n{time.monotonic() - began:.0f} s. Look at {FOLDER / 'runs/forum.html'} and {FOLDER / 'runs/book.html'},")
    print(f"at the cards in {FOLDER / 'data'}, or: toolablate view {FOLDER / 'runs/book.sqlite'}")


if __name__ == "__main__":
    main(record="--record" in sys.argv[1:])
