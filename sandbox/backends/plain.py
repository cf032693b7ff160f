"""Kernels without any protection: for those who ask for them by name."""

import os
import socket
from pathlib import Path

from toolablate.sandbox.host_resources import HostResources
from toolablate.sandbox.kernel import Limits
from toolablate.sandbox.process import ENVIRONMENT, INSIDE, Child, KernelProcess
from toolablate.sandbox.python import Python


class Plain:
    """One process per kernel, and nothing around it."""

    def __init__(self, limits: Limits, python: Python) -> None:
        self._limits = limits
        self._premises = HostResources()
        self._python = python

    def new_process(self) -> KernelProcess:
        return PlainProcess(self._limits, self._premises, self._python)

    async def close(self) -> None:
        await self._premises.close()


class PlainProcess(KernelProcess):
    """A kernel as our own user, with our network and our files. Of the limits, those on memory, CPU time, file size and
    open files hold, per process; the environment is a fresh one and the work folder a temporary one all the same."""

    guarded = False

    def __init__(self, limits: Limits, premises: HostResources, python: Python) -> None:
        super().__init__(limits, premises)
        self._python = python
        self._child: Child | None = None

    async def _launch(self) -> socket.socket:
        bin_folder = Path(self._python.executable).parent
        own = {"HOME": self.work, "IPYTHONDIR": f"{self.folder}/ipython"}
        own |= {"MPLCONFIGDIR": f"{self.folder}/matplotlib", "TMPDIR": self.folder, "PYTHONPATH": str(INSIDE.parent)}
        self._child = Child(
            lambda control: [self._python.executable, "-P", "-m", "inside.start", f"fd:{control}"],
            env={**ENVIRONMENT, **own, "PATH": f"{bin_folder}:{os.environ.get('PATH', '/usr/bin:/bin')}"},
        )
        return self._child.control

    async def _dispose(self) -> None:
        if self._child is not None:
            await self._child.end()

    def _start_error(self) -> str:
        return self._child.error() if self._child else ""

    @property
    def work(self) -> str:
        return f"{self.folder}/work"

    def _process_limit(self) -> int:
        # Counted over all that our user runs, so no small number would leave a kernel any.
        return 1 << 20
