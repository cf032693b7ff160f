"""litellm's proxy (https://docs.litellm.ai), where it is installed: a server that nobody here wrote.

It is found as TOOLABLATE_LITELLM or on PATH. Some of its models answer by themselves (`mock_response`), others pass on to
our own server what was asked, so that it reads and rewrites both sides.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.servers.chat_server import ChatServer, ChatServers, closed_port

KEY = "sk-proxy-key-of-the-tests"
_ERRORS = ("RateLimitError", "InternalServerError", "ContextWindowExceededError")
_START_SECONDS = 300
"""It imports for a minute and more where nothing of it is in the page cache."""


@dataclass(frozen=True)
class Proxy:
    """`url` is the endpoint for a model record, `upstream` what stands behind the models that are passed on."""

    url: str
    upstream: ChatServer


@pytest.fixture(scope="module")
def litellm(chat_servers: ChatServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    program = os.environ.get("TOOLABLATE_LITELLM") or shutil.which("litellm")
    if not program:
        pytest.skip("litellm is not installed: put it on PATH, or its path into TOOLABLATE_LITELLM")
    folder, port = tmp_path_factory.mktemp("litellm"), closed_port()
    with chat_servers.server() as upstream, (folder / "log").open("wb") as log:
        # JSON is YAML.
        (folder / "config.yaml").write_text(json.dumps(_config(upstream.url)), encoding="utf-8")
        started = subprocess.Popen(
            [program, "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"],
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        )
        try:
            _wait(f"http://127.0.0.1:{port}", started, folder / "log")
            yield Proxy(f"http://127.0.0.1:{port}/v1", upstream)
        finally:
            started.terminate()
            started.wait(20)


@pytest.fixture
def proxy(litellm: Proxy, monkeypatch: pytest.MonkeyPatch) -> Proxy:
    monkeypatch.setenv("TEST_KEY", KEY)
    litellm.upstream.requests.clear()
    return litellm


def _config(upstream: str) -> dict[str, Any]:
    def model(name: str, **params: Any) -> dict[str, Any]:
        return {"model_name": name, "litellm_params": {"model": f"openai/{name}", "api_key": "sk-none", **params}}

    call = {"id": "call_1", "type": "function", "function": {"name": "double", "arguments": '{"x": 21}'}}
    return {
        "model_list": [
            model("plain", mock_response="Answer: A"),
            model("caller", mock_response="", mock_tool_calls=[call]),
            *(model(error, mock_response=f"litellm.{error}") for error in _ERRORS),
            model("deepseek", model="deepseek/deepseek-reasoner", api_base=upstream),
            model("openai", api_base=upstream),
        ],
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
        "litellm_settings": {"num_retries": 0},
        "general_settings": {"master_key": KEY},
    }


def _wait(address: str, started: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + _START_SECONDS
    while time.monotonic() < ends and started.poll() is None:
        try:
            if httpx2.get(f"{address}/health/liveliness").is_success:
                return
        except httpx2.TransportError:
            time.sleep(0.2)
    started.kill()
    started.wait(20)
    pytest.fail(f"litellm's proxy did not start:\n{log.read_text('utf-8', 'replace')[-2000:]}")
