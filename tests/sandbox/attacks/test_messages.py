"""Cells that speak the Jupyter protocol themselves: forged, broken and senseless messages, and broken transport."""

from collections.abc import Awaitable, Callable

import pytest
from tests.sandbox.conftest import read_by_the_host, unhurried

from toolablate.sandbox import Kernel

pytestmark = [pytest.mark.deep, pytest.mark.asyncio(loop_scope="module")]

OpenKernel = Callable[..., Awaitable[Kernel]]

SENDING = """
import json, os, time
k = get_ipython().kernel
parent = k.get_parent()
def send(kind, content, parent=parent, **more): k.session.send(k.iopub_socket, kind, content, parent=parent, **more)
def raw(content=b'{}', header=None, parent=parent, metadata=b'{}', ident=b'x'):
    parts = [header or json.dumps(k.session.msg_header('stream'), default=str).encode(), json.dumps(parent, default=str).encode(), metadata, content]
    frames = [ident, b'<IDS|MSG>', k.session.sign(parts), *parts]
    k.iopub_thread.schedule(lambda: k.iopub_thread.socket.send_multipart(frames))
"""


@pytest.mark.parametrize(
    "attack",
    [
        "k.iopub_thread.schedule(lambda: k.iopub_thread.socket.send_multipart([b'x']))",
        "k.iopub_thread.schedule(lambda: k.iopub_thread.socket.send_multipart([b'', b'', b'']))",
        "k.iopub_thread.schedule(lambda: k.iopub_thread.socket.send_multipart([b'<IDS|MSG>'] * 9))",
        "k.iopub_thread.schedule(lambda: k.iopub_thread.socket.send_multipart([b'f'] * 50_000))",
        "send('stream', {'text': {'a': 1}, 'name': 7})",
        "send('stream', {'text': '\\ud800' * 99, 'name': 'stdout'})",
        "send('display_data', {'data': 'none'})",
        "send('display_data', {'data': {'image/png': ['x'], 'text/plain': None, 'image/svg+xml': {'a': 1}}})",
        "send('display_data', {'data': {'application/json': float('nan')}})",
        "send('error', {'traceback': [1, None], 'ename': None})",
        "send('update_display_data', {'data': {'text/plain': 'x'}, 'transient': {'display_id': []}})",
        "send('clear_output', {'wait': 'perhaps'})",
        "raw(b'[]')",
        "raw(b'null')",
        "raw(b'NaN')",
        'raw(b\'{"text": NaN, "name": Infinity}\')',
        "raw(b'\\xff\\xfe\\x00')",
        'raw(b\'{"text": "\\xed\\xa0\\x80"}\')',
        "raw(b'[' * 10_000 + b']' * 10_000)",
        "raw(b'{\"a\":' * 10_000 + b'1' + b'}' * 10_000)",
        "raw(b'{\"data\": {\"application/json\": ' + b'[' * 900 + b']' * 900 + b'}}')",
        "raw(b'{\"text\": ' + b'9' * 100_000 + b'}')",
        "raw(b'{\"text\": 1e999999}')",
        "raw(header=b'[]')",
        "raw(header=b'{}')",
        'raw(header=b\'{"msg_id": 1, "msg_type": {}, "date": "2026-99-99T00:00:00Z"}\')',
        'raw(header=b\'{"msg_id": "a", "msg_type": "stream", "date": "0000-00-00T99:99:99.999999Z", "version": 7}\')',
        'raw(header=b\'{"msg_id": "a", "msg_type": "stream", "date": {"a": []}, "session": null}\')',
        "raw(parent=[])",
        "raw(parent='text')",
        "raw(parent={**parent, 'msg_id': ['x']})",
        "raw(metadata=b'7')",
        "raw(ident=b'i' * 10**6)",
        "send('stream', {'text': 'x', 'name': 'stdout'}, buffers=[b'b' * 1000] * 500)",
        "send('stream', {'text': 'forged', 'name': 'stdout'}, parent={'msg_id': 'another'})",
        "k.session.key = b'other'; send('stream', {'text': 'unsigned', 'name': 'stdout'}); time.sleep(0.1); k.session.key = key",
        "k.session.send(k.stdin_socket, 'input_request', {'prompt': 'name?', 'password': False}, parent=parent, ident=b'x')",
        "send('input_request', {'prompt': 'name?', 'password': False})",
        "send('execute_input', {'code': 'rm -rf /', 'execution_count': -1})",
        "send('comm_open', {'comm_id': None, 'target_name': '../../etc', 'data': 'x'})",
        "send('shutdown_reply', {'status': 'ok', 'restart': True})",
        "send('kernel_info_reply', {'status': 'ok', 'protocol_version': 'x', 'language_info': 7})",
    ],
)
async def test_senseless_message_does_no_harm(jail: Kernel, attack: str) -> None:
    result = await jail.execute(f"{SENDING}key = k.session.key\n{attack}\ntime.sleep(0.05); print('after')")
    assert (result.status, result.error) in {
        ("ok", ""),
        *(("error", name) for name in ("Error", "TypeError", "ValueError", "UnicodeEncodeError")),
    }
    assert "after" in result.text or result.status == "error"
    assert "forged" not in result.text
    assert "unsigned" not in result.text
    result.text.encode()
    for rich in result.rich:
        rich.data.encode()
    assert (await jail.execute("1")).text == "1\n"


@read_by_the_host
@pytest.mark.parametrize(
    "forge",
    [
        "send('status', {'execution_state': 'idle'})",
        "send('status', {'execution_state': 'idle'}); time.sleep(1.5)",
        "reply({'status': 'ok', 'execution_count': 1, 'payload': [], 'user_expressions': {}})",
        "reply({'status': 'ok'}); send('status', {'execution_state': 'idle'})",
        "[reply({'status': 'ok'}) for _ in range(100)]",
        "reply({'status': 'error', 'ename': ['x'], 'evalue': {}, 'traceback': 'none'})",
        "reply({'status': 'aborted'})",
        "reply({'status': 'ok', 'payload': [{'source': 'ask_exit', 'keepkernel': False}]})",
        "reply({'status': 'ok', 'payload': [{'source': 'page', 'data': {'text/plain': 'x' * 10**6}}] * 50})",
        "reply({'status': 'ok', 'payload': 'none'})",
        "reply({'status': 7, 'payload': [7, None, []]})",
        "reply('no object')",
    ],
)
async def test_forged_end_takes_nothing_but_its_own_cell(jail_with: OpenKernel, forge: str) -> None:
    """A kernel can say that a cell has ended: what the next cells show must still be theirs."""
    kernel = await jail_with(cell_seconds=4.0)
    replying = "def reply(content): k.session.send(k.shell_stream, 'execute_reply', content, parent=parent, ident=k._shell_parent_ident.get() if hasattr(k, '_shell_parent_ident') else k._parent_ident['shell'])\n"
    first = await kernel.execute(f"{SENDING}{replying}{forge}\nprint('late')")
    assert first.status in ("ok", "error", "died", "timeout")
    assert len(first.text) < 20_000
    for number in range(2):
        assert (await kernel.execute(f"{number} * 10")).text.splitlines()[-1:] == [f"{number * 10}"]


@read_by_the_host
@pytest.mark.parametrize(
    "later",
    [
        "threading.Timer(0.3, lambda: [print('from before') for _ in range(50)]).start()",
        "threading.Timer(0.3, lambda: os.write(1, b'from before')).start()",
        "subprocess.Popen(['sh', '-c', 'sleep 0.3; while true; do echo from before; sleep 0.01; done'])",
        "threading.Timer(0.3, lambda: send('status', {'execution_state': 'idle'})).start()",
        "threading.Timer(0.3, lambda: send('error', {'ename': 'Forged', 'evalue': '', 'traceback': []})).start()",
    ],
)
async def test_earlier_cell_does_not_speak_for_a_later_one(jail_with: OpenKernel, later: str) -> None:
    kernel = await jail_with(cell_seconds=5.0)
    await kernel.execute(f"{SENDING}import subprocess, threading\n{later}")
    result = await kernel.execute("time.sleep(0.8); 6 * 7")
    assert (result.status, result.error) == ("ok", "")
    assert "42" in result.text.splitlines()


@pytest.mark.parametrize(
    "attack",
    [
        "for d in range(3, 256):\n try:\n  if 'socket' in os.readlink(f'/proc/self/fd/{d}'): os.write(d, b'\\xff' * 4096)\n except OSError: pass",
        "for d in range(3, 256):\n try:\n  if 'socket' in os.readlink(f'/proc/self/fd/{d}'): os.close(d)\n except OSError: pass",
        "k.iopub_thread.schedule(lambda: k.iopub_thread.socket.close())",
        "k.session.key = b'changed for good'",
        "k.shell_handlers.clear()",
        "type(get_ipython()).run_cell = lambda *a, **k: 1/0",
        "import builtins; builtins.print = builtins.len = builtins.isinstance = None",
    ],
    ids=["garbage on sockets", "closed sockets", "closed output", "other key", "no handlers", "broken shell", "no builtins"],
)  # fmt: skip
async def test_kernel_that_breaks_itself_is_answered_for(jail_with: OpenKernel, attack: str) -> None:
    kernel = await jail_with(cell_seconds=1.0, grace_seconds=0.5)
    first = await kernel.execute(SENDING + attack)
    assert first.status in ("ok", "error", "died", "timeout")
    second = await kernel.execute("6 * 7")
    if second.status == "died" or "42" not in second.text:  # now it is known to be broken, or says so itself
        await kernel.execute("import os; os._exit(1)")
        second = await unhurried(kernel).execute("6 * 7")
    assert "42" in second.text
