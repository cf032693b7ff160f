"""The web: URLs, what may be fetched, and live requests."""

from toolablate.tools.web.exchange import Exchange, FetchError, HttpClient, decoded_body
from toolablate.tools.web.fetch import LiveHttpClient
from toolablate.tools.web.follow import Fetched, follow
from toolablate.tools.web.policy import WebPolicy, is_public
from toolablate.tools.web.urls import normal_url, request_key

__all__ = [
    "Exchange",
    "FetchError",
    "Fetched",
    "HttpClient",
    "LiveHttpClient",
    "WebPolicy",
    "decoded_body",
    "follow",
    "is_public",
    "normal_url",
    "request_key",
]
