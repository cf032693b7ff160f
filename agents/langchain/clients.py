"""What clients of some packages do by themselves, undone: retries of their own, and connections shared by all."""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel

T = TypeVar("T")

_ASYNC_CLIENTS = ("_async_client", "async_client", "root_async_client")


def with_own_clients(opening: Callable[[], T]) -> T:
    """What `opening` makes, with HTTP connections that no other source and no other event loop shares: packages cache
    their clients by address."""
    _forget_clients()
    try:
        return opening()
    finally:
        _forget_clients()


def _forget_clients() -> None:
    for name in [name for name in sys.modules if name.startswith("langchain_") and name.endswith("_client_utils")]:
        for cached in list(vars(sys.modules[name]).values()):
            if callable(clear := getattr(cached, "cache_clear", None)):
                clear()


def settle(chat: BaseChatModel) -> None:
    """Makes the client that is made with the first request, and takes retries from those that have their own."""
    for name in _ASYNC_CLIENTS:
        if name in vars(type(chat)):
            with suppress(Exception):
                getattr(chat, name)
    _without_gapic_retries(getattr(chat, "client", None))
    _without_gapic_retries(getattr(chat, "async_client_running", None))


def _without_gapic_retries(client: Any) -> None:
    """Google's generated clients repeat what was refused with 503 for minutes, whatever they are told."""
    methods = getattr(getattr(client, "transport", None), "_wrapped_methods", None)
    for method in methods.values() if isinstance(methods, dict) else ():
        if hasattr(method, "_retry"):
            method._retry = None


def is_blocking(chat: BaseChatModel) -> bool:
    """Whether it has no way to ask without a thread: no `_agenerate` of its own, or a transport without one."""
    without = type(chat)._agenerate is BaseChatModel._agenerate and type(chat)._astream is BaseChatModel._astream
    return without or getattr(chat, "transport", None) == "rest"


async def close_clients(chat: BaseChatModel) -> None:
    """Closes the connections, as far as the class lets one."""
    for client in (chat, *(vars(chat).get(name) for name in _ASYNC_CLIENTS)):
        closing = getattr(client, "aclose", None) or getattr(client, "close", None)
        if closing is not None:
            with suppress(Exception):
                closed = closing()
                if hasattr(closed, "__await__"):
                    await closed
