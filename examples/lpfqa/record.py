"""Records the replies of the example: runs its plan once against an endpoint on this machine, which makes them up.

    python examples/lpfqa/record.py

`made_up.jsonl` says for each question what a right and a wrong answer sound like, what is searched for, what is
computed, and under which of the conditions none, python, search and all a model knows it ("1001"). The judge knows
which answers were written to be right.
"""

import json
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

FOLDER = Path(__file__).parent
CONDITIONS = ("none", "python", "search", "all")
JUDGE = "made-up-judge"
BREAKS_THE_FORMAT = "qpcr-slope"
"""The judge's first reply on answers to this question holds no grade, so that it is asked again."""


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


PROMPTS = {row["prompt"]: row["prompt_id"] for row in read("rows.jsonl")}
MADE_UP = {entry["question"]: entry for entry in read("made_up.jsonl")}


def judged(messages: list[dict[str, Any]]) -> dict[str, Any]:
    asked = next(message["content"] for message in messages if message["role"] == "user")
    answer = asked.rpartition("<学生答案>:")[2]
    entry = next(entry for entry in MADE_UP.values() if answer in (entry["right"], entry["wrong"]))
    if entry["question"] == BREAKS_THE_FORMAT and messages[-1]["content"] == asked:
        return {"content": "The answer was compared with the points one by one."}
    right = answer == entry["right"]
    reason = "It meets every point." if right else "It does not end with what the reference says."
    return {"content": f'{reason}\nJSON: {{"answer_score": {int(right)}}}'}


def answered(model: str, messages: list[dict[str, Any]], tools: list[str]) -> dict[str, Any]:
    """One call of each tool that is of use, all at once; then the answer."""
    prompt = next(message["content"] for message in messages if message["role"] == "user")
    entry = MADE_UP[PROMPTS[prompt]]
    calls = [("python", {"code": entry["code"]})] if "python" in tools and entry["code"] else []
    calls += [("web_search", {"query": entry["query"]})] if "web_search" in tools else []
    if calls and messages[-1]["role"] == "user":
        return {"content": "", "tool_calls": [call(number, *each) for number, each in enumerate(calls)]}
    condition = CONDITIONS[("python" in tools) + 2 * ("web_search" in tools)]
    knows = entry["knows"][model][CONDITIONS.index(condition)] == "1"
    return {"content": entry["right"] if knows else entry["wrong"]}


def call(number: int, name: str, arguments: dict[str, str]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": f"call_{number}", "type": "function", "function": function}


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages, model = asked["messages"], asked["model"]
        tools = [tool["function"]["name"] for tool in asked.get("tools", ())]
        message = judged(messages) if model == JUDGE else answered(model, messages, tools)
        choice = {
            "index": 0,
            "message": {"role": "assistant", **message},
            "finish_reason": "tool_calls" if "tool_calls" in message else "stop",
        }
        usage = {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}
        reply = {"id": "made-up", "object": "chat.completion", "created": 0, "model": model, "choices": [choice]}
        body = json.dumps(reply | {"usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""


def main() -> int:
    plan = (FOLDER / "plan.toml").read_text(encoding="utf-8")
    address = urlsplit(tomllib.loads(plan)["models"][0]["endpoint"])
    recording = FOLDER / "recording.toml"
    with ThreadingHTTPServer((address.hostname, address.port), Endpoint) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        recording.write_text(plan.replace('mode = "replay"', 'mode = "record"'), encoding="utf-8")
        try:
            command = [sys.executable, "-m", "toolablate", "run", recording, "--store", FOLDER / "data/recorded.sqlite"]
            return subprocess.run(command, check=False).returncode
        finally:
            recording.unlink()
            server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
