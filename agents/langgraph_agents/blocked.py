"""Whether the loop that all agents share comes round: a coroutine that does not give way keeps all others from it."""

import asyncio
import sys
import threading
import traceback
from concurrent.futures import Future

from toolablate.agents.langgraph_agents.discovery import LIBRARIES
from toolablate.agents.langgraph_agents.threads import agents_loop
from toolablate.traces.errors import ModelError

# For the loop to come round: longer than agents work between two awaits, also on a busy machine.
PATIENCE_SECONDS = 10.0


async def require_loop() -> None:
    """Raises ModelError where the agents' loop does not come round; it names the code that keeps it."""
    came: Future[None] = Future()

    def come() -> None:
        if came.set_running_or_notify_cancel():
            came.set_result(None)

    agents_loop().call_soon_threadsafe(come)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.wrap_future(came)
    except TimeoutError:
        raise ModelError(
            f"the loop on which all agents run is blocked by {_keeper()}, so that this agent did not come on",
            hint="a coroutine has to await: asyncio.sleep in place of time.sleep, asyncio.to_thread for what takes"
            " long, and no endless loop that catches all exceptions, since one of these ends the agent",
            code="loop_blocked",
        ) from None


def _keeper() -> str:
    """The innermost code on the loop's thread that is the user's, where there is some."""
    thread = next((each for each in threading.enumerate() if each.name == "agents"), None)
    frame = sys._current_frames().get(thread.ident or 0) if thread else None
    frames = [each for each, _ in traceback.walk_stack(frame)] if frame else []
    if not frames:
        return "code that cannot be told"
    own = (each for each in frames if not _is_library(each.f_code.co_filename, each.f_globals.get("__name__", "")))
    found = next(own, frames[0])
    return f"{found.f_globals.get('__name__', '')}.{found.f_code.co_qualname}, line {found.f_lineno}"


def _is_library(file: str, module: str) -> bool:
    return file.startswith(("<", *LIBRARIES)) or module.partition(".")[0] == "toolablate"
