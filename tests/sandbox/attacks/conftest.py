from collections.abc import AsyncIterator

import pytest_asyncio

from toolablate.sandbox import Kernel


@pytest_asyncio.fixture(loop_scope="module")
async def jail(shared_jail: Kernel) -> AsyncIterator[Kernel]:
    """The isolated kernel that all tests of a module share; whatever was tried in it, the next cell must work."""
    yield shared_jail
    after = await shared_jail.execute("6 * 7")
    assert (after.status, after.text.splitlines()[-1]) == ("ok", "42")
