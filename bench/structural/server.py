"""The simulated model behind an OpenAI-compatible endpoint. A reply depends on the request and on how many equal ones
came before it: its mark is the hash of both, and all later requests of the trial hold it in the ids of tool calls."""

import hashlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.structural.graph import (
    CODE,
    TIRED,
    Cause,
    Forced,
    Question,
    Seen,
    Situation,
    Turn,
    action,
    answer,
    calls_tool,
    commits,
    draw,
    glum,
    late_page,
    loses_form,
    position,
    strengths,
    sunk_cost,
    volume,
)
from bench.structural.questions import address
from bench.structural.wording import Half, program, said

_NAMED = re.compile(r"The register of (\w+) lists")
_LINES = re.compile(r"lines \d+-(\d+) of (\d+)")
_WITHHELD = ("This call was not executed", "This call was interrupted")
_ORDINALS = ("first", "second", "third", "fourth")
_TOOL = {"python": "code", "web_search": "search", "browser_open": "page"}


# From a request to the situation that it describes.


def situation_of(body: Mapping[str, Any], questions: Mapping[str, Question], mark: str) -> Situation:
    """`questions` are by the names of their registers. Raises KeyError for any other question."""
    messages = body["messages"]
    asked = [message for message in messages if message["role"] == "user"]
    found = _NAMED.search(asked[0]["content"])
    question = questions[found[1] if found else ""]
    return Situation(
        question=question,
        mark=mark,
        prompt=any(message["role"] == "system" for message in messages),
        offered=bool(body.get("tools")),
        may_call=bool(body.get("tools")) and body.get("tool_choice", "auto") != "none",
        turns=tuple(_turns(question, messages)),
        forced=_forced(asked[1:]),
    )


def _forced(more: Sequence[Mapping[str, Any]]) -> Forced:
    if not more:
        return ""
    return "ignore" if "aside" in more[-1]["content"] and "tools returned" in more[-1]["content"] else "now"


def _turns(question: Question, messages: Sequence[Mapping[str, Any]]) -> Iterator[Turn]:
    results = {each["tool_call_id"]: each["content"] for each in messages if each["role"] == "tool"}
    for message in messages:
        for call in message.get("tool_calls") or ():
            text = results.get(call["id"], _WITHHELD[0])
            seen = None if text.startswith(_WITHHELD) else read(question, call["function"]["name"], text)
            yield Turn(call["id"].removeprefix("call_"), seen)


def read(question: Question, tool: str, text: str) -> Seen:
    """What the model takes from a result. Extracts among search results show no value."""
    numbers = set(re.findall(r"(?<!\d)\d{4,}(?!\d)", text))
    kind = _TOOL[tool]
    letters = {question.letters[role] for role, value in question.values.items() if str(value) in numbers}
    status = "error" if re.match(r"Error\b|This call failed", text) else "ok"
    empty = status == "ok" and len(text) < 60 and not numbers
    return Seen(kind, frozenset(letters if status == "ok" else ()), len(text), "empty" if empty else status)  # type: ignore[arg-type]


# From the situation to the reply.


def reply_to(s: Situation, half: Half, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A message."""
    q = s.question

    def words(slot: str, **given: object) -> str:
        return said(slot, q.style, half, draw(s.mark, f"words {slot}"), **{"name": q.name, **given})

    if (earlier := _answered_before(messages)) is not None:
        return {"role": "assistant", "content": f"{words('forced')}\n\nAnswer: {earlier}"}
    texts = _reaction(s, words)
    if calls_tool(s):
        what = action(s)
        slot = "formula" if what == "formula" and commits(s) else "code" if what in CODE else "search"
        slot = slot if what in CODE or what == "search" else "page"
        if not s.turns or slot in ("formula", "page") or draw(s.mark, "announces") < 0.6:
            texts.append(words(slot))
        name, arguments = _call(s, what, half, messages)
        call = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{"id": f"call_{s.mark}", "type": "function", "function": call}]
        return {"role": "assistant", "content": " ".join(texts), "tool_calls": calls}
    texts.append(words("forced" if s.forced else "conclude"))
    letter = answer(s)
    if loses_form(s):
        place = sorted(q.letters.values()).index(letter)
        return {"role": "assistant", "content": " ".join([*texts, words("formless", ordinal=_ORDINALS[place])])}
    return {"role": "assistant", "content": f"{' '.join(texts)}\n\n{words('announce', letter=letter)}"}


def _answered_before(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """The letter of a reply that ended the trial without a form, where it is asked for once more."""
    last = next((each for each in reversed(messages) if each["role"] != "user"), None)
    if last is None or last["role"] != "assistant" or last.get("tool_calls"):
        return None
    content = str(last.get("content"))
    announced = re.search(r"Answer: ([A-D])", content)
    if announced:
        return announced[1]
    return next((letter for letter, word in zip("ABCD", _ORDINALS, strict=True) if f" {word} " in content), None)


def _reaction(s: Situation, words: Any) -> list[str]:
    q = s.question
    if not s.turns:
        uncertain = glum(s) if q.moody else draw(s.mark, "tone") < 0.25
        return [words("glum" if uncertain else "bright")]
    last = s.turns[-1].seen
    if last is None or s.forced:
        return []
    if last.status == "error":
        return [words("again" if calls_tool(s) else "tool_fault" if "tool_fault" in q.causes else "nothing_new")]
    before = Situation(q, s.turns[-1].mark, s.prompt, s.offered, s.may_call, s.turns[:-1])
    new = {cause for cause, much in strengths(s).items() if much > strengths(before).get(cause, 0.0)}
    shown = [role for role, letter in q.letters.items() if letter in last.letters]
    said_now = [words(_slot(role, q, new), value=q.values[role]) for role in shown]
    if "late_page" in new and late_page(s):
        said_now.append(words("late_page", value=q.values["page"]))
    if "volume" in new and volume(s) > 0.5:
        said_now.append(words("volume"))
    if "sunk_cost" in new and sunk_cost(s) and len(s.turns) == TIRED:
        said_now.append(words("sunk_cost"))
    if not said_now and draw(s.mark, "silent") < 0.6:
        said_now.append(words("nothing_new"))
    return said_now


def _slot(role: str, q: Question, new: set[Cause]) -> str:
    """What is said of a value that a result shows, where these causes are new."""
    match role:
        case "right":
            return "whole"
        case "formula":
            return "confirmed"
        case "short":
            return "part" if "budget" in q.causes else "lock_in" if "lock_in" in new else "unconvinced"
        case _:
            return "wrong_page" if "wrong_page" in new else "nothing_new" if "late_page" in q.causes else "unconvinced"


def _call(s: Situation, what: str, half: Half, messages: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, object]]:
    q, at = s.question, position(s)
    if what == "search":
        more = ("", " archive", " volumes", " history", " keeper")[int(draw(s.mark, "query") * 5)]
        return "web_search", {"query": f"register of {q.name}{more}"}
    if what == "open":
        return "browser_open", {"url": address(q)}
    if what == "more":
        return "browser_open", {"url": address(q), "line": _next_line(messages)}
    parts = q.plan[: at + 1].count(what)
    if what == "part_page":
        return "browser_open", {"url": address(q, parts)}
    a, b, c, cut, d, n = q.seasons
    value = q.values["right" if parts == q.plan.count("part") else "short"]
    what = "exact" if what == "formula" and not commits(s) else what
    k = parts if what == "part" else 2 + int(draw(s.mark, "season") * (n - 3))
    code = program(what, q.style, half, a=a, b=b, c=c, s=cut, d=d, n=n, k=k, value=value)
    return "python", {"code": code}


def _next_line(messages: Sequence[Mapping[str, Any]]) -> int:
    for message in reversed(messages):
        if message["role"] == "tool" and (found := _LINES.search(message["content"])):
            return int(found[1]) + 1 if int(found[1]) + 1 < int(found[2]) else 0
    return 0


# The endpoint.


class Model:
    """`asked` is the number of requests so far, `equal` that of each, by its hash; with those of an earlier server the
    draws go on where its ended."""

    def __init__(
        self, questions: Sequence[Question], half: Half, seed: int, equal: Mapping[str, int] | None = None
    ) -> None:
        self.asked = 0
        self.equal = Counter[str](equal or {})
        self._questions = {q.name: q for q in questions}
        self._half = half
        self._seed = seed
        self._lock = threading.Lock()

    def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A `seed` in the request stands for the number of equal ones before it."""
        whole = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        with self._lock:
            self.asked += 1
            number = self.equal[whole]
            self.equal[whole] += 1
        number = 0 if body.get("seed") is not None else number
        mark = hashlib.sha256(f"{self._seed}/{whole}/{number}".encode()).hexdigest()[:16]
        s = situation_of(body, self._questions, mark)
        message = reply_to(s, self._half, body["messages"])
        sizes = len(json.dumps(body["messages"])) // 4, len(json.dumps(message)) // 4
        return {
            "id": f"chatcmpl-{mark}",
            "object": "chat.completion",
            "created": 1,
            "model": body.get("model", "structural"),
            "choices": [
                {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
            ],
            "usage": {"prompt_tokens": sizes[0], "completion_tokens": sizes[1], "total_tokens": sum(sizes)},
        }


@contextmanager
def serving(model: Model, port: int = 0) -> Iterator[str]:
    """The endpoint's address, on this machine; any free port for 0."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                status, reply = 200, model.complete(body)
            except (KeyError, ValueError) as error:
                status, reply = 400, {"error": {"message": f"cannot be answered: {error!r}"}}
            content = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing."""

    server = _bound(port, Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()


def _bound(port: int, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    """A port that a folder had before may be another's for some seconds."""
    for _ in range(30):
        try:
            return ThreadingHTTPServer(("127.0.0.1", port), handler)
        except OSError:
            time.sleep(1)
    raise SystemExit(f"port {port}, under which this folder's store knows the model, is taken: try again later")
