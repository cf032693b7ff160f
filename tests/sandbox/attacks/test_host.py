"""Kernels whose host is killed while a child of it lives on."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

HOST = """
import asyncio, os, signal, sys, time
from toolablate.sandbox import KernelUnavailable, open_sandbox

async def main(backend, mark):
    sandbox = open_sandbox(backend)
    try:
        kernel = await sandbox.start()
    except KernelUnavailable as unavailable:
        print(unavailable.code, flush=True)
        return
    await kernel.execute(f"import subprocess; p = subprocess.Popen(['sleep', '{mark}'])")
    if (child := os.fork()) == 0:
        os.closerange(0, 3)
        time.sleep(100)
        os._exit(0)
    print("child", child, flush=True)
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.deep
@pytest.mark.timeout(90)
def test_kernel_does_not_outlive_a_host_that_has_forked(isolating_backend: str) -> None:
    mark = f"7{os.getpid()}"
    with subprocess.Popen(
        [sys.executable, "-c", HOST, isolating_backend, mark], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as host:
        assert host.stdout is not None
        word, *child = host.stdout.readline().split()
        if not child:
            optional = word in ("no_daemon", "no_image") and os.environ.get("TOOLABLATE_REQUIRE_DOCKER") != "1"
            (pytest.skip if optional else pytest.fail)(word)
        try:
            assert runs(mark)
            host.communicate("\n")
            while runs(mark):
                time.sleep(0.05)  # the test's own time limit ends this
            assert Path(f"/proc/{child[0]}").exists()
        finally:
            os.kill(int(child[0]), 9)


def runs(mark: str) -> bool:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes() == f"sleep\0{mark}\0".encode():
                return True
        except OSError:
            continue
    return False
