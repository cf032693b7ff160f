import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio
from tests.sandbox.conftest import ISOLATING, QUICK, backend_params, started

from toolablate.sandbox import Kernel, Sandbox, open_sandbox

OpenKernel = Callable[..., Awaitable[Kernel]]


@pytest_asyncio.fixture(loop_scope="module")
async def jail(shared_jail: Kernel) -> AsyncIterator[Kernel]:
    """The isolated kernel that all tests of a module share; whatever was tried in it, the next cell must work."""
    yield shared_jail
    after = await shared_jail.execute("6 * 7")
    assert (after.status, after.text.splitlines()[-1]) == ("ok", "42")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=backend_params(ISOLATING))
async def jail_with(request: pytest.FixtureRequest) -> AsyncIterator[OpenKernel]:
    """Starts a kernel whose limits differ from the quick ones in the named ways, on one sandbox for equal limits."""
    opened: dict[frozenset[tuple[str, float]], Sandbox] = {}

    async def open_kernel(**changes: float) -> Kernel:
        limits = frozenset(changes.items())
        if limits not in opened:
            opened[limits] = open_sandbox(str(request.param), dataclasses.replace(QUICK, **changes))  # type: ignore[arg-type]
        return await started(opened[limits])

    yield open_kernel
    for sandbox in opened.values():
        await sandbox.close()
