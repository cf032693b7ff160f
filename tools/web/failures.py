"""What it means that a request failed, by the exceptions of sockets, TLS and HTTP."""

import errno
import ssl
from collections.abc import Iterator, Sequence

from toolablate.tools.plain import one_line
from toolablate.tools.web.exchange import FetchError


def connection_failure(url: str, addresses: Sequence[str], failures: Sequence[Exception]) -> FetchError:
    """No address could be connected to: `tls`, `timeout`, `unreachable`, or `no_network` for this machine's fault.

    `failures` are in the order of `addresses`; the last one is told.
    """
    from httpx2 import ConnectTimeout

    causes = [cause for failure in failures for cause in _causes(failure)]
    shown = one_line(url, 300)
    # A handshake that is waiting for more is no refusal.
    refusals = (cause for cause in causes if isinstance(cause, ssl.SSLError) and cause.errno != ssl.SSL_ERROR_WANT_READ)
    if refused := next(refusals, None):
        return FetchError(f"{shown}: no secure connection can be made: {_reason(refused)}", code="tls")
    # A machine without IPv6 reaches no IPv6 address, but one that reaches no IPv4 address either is cut off.
    if any("." in address for address in addresses) and all(map(_is_cut_off, failures)):
        return FetchError("no address can be reached: there is no network", code="no_network", transient=True)
    if failures and all(isinstance(failure, ConnectTimeout) for failure in failures):
        return FetchError(f"{shown} cannot be reached: nobody answers", code="timeout", transient=True)
    reasons = [_reason(cause) for cause in causes if str(cause)]
    message = f"{shown} cannot be reached: {reasons[-1] if reasons else 'it has no address'}"
    return FetchError(message, code="unreachable", transient=True)


def reply_failure(url: str, error: Exception) -> FetchError:
    """What was sent got no reply that can be read: `bad_reply`, or `unreachable` where the connection broke."""
    from httpx2 import ProtocolError

    if isinstance(error, ProtocolError):
        message = f"{one_line(url, 300)} gives no valid reply: {_reason(error)}"
        return FetchError(message, code="bad_reply", transient=True)
    message = f"{one_line(url, 300)} cannot be reached: {_reason(error)}"
    return FetchError(message, code="unreachable", transient=True)


def _is_cut_off(failure: Exception) -> bool:
    without_route = (errno.ENETUNREACH, errno.EADDRNOTAVAIL)
    return any(isinstance(cause, OSError) and cause.errno in without_route for cause in _causes(failure))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: BaseException) -> str:
    return one_line(str(error), 200) or type(error).__name__
