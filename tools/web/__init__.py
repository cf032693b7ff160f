"""The web: URLs, what may be fetched, and live requests."""

from toolablate.tools.web.exchange import Exchange, FetchError, Hops, decoded_body
from toolablate.tools.web.fetch import LiveHops
from toolablate.tools.web.follow import Fetched, follow
from toolablate.tools.web.policy import WebPolicy, is_public
from toolablate.tools.web.urls import normal_url, request_key

__all__ = [
    "Exchange",
    "FetchError",
    "Fetched",
    "Hops",
    "LiveHops",
    "WebPolicy",
    "decoded_body",
    "follow",
    "is_public",
    "normal_url",
    "request_key",
]
