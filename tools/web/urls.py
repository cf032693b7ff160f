"""URLs as the WHATWG's URL standard reads them, which is how browsers do: https://url.spec.whatwg.org/.

There is one parse: a URL in normal form is split by the same parser that made it, and what is sent is made of those
parts.
"""

import re
from dataclasses import dataclass

from ada_url import URL, HostType

from toolablate.tools.text import one_line
from toolablate.tools.web.exchange import FetchError
from toolablate.traces.records import clean_text, digest_json

MAX_URL_CHARS = 4_000

_PORTS = {"http:": 80, "https:": 443}
# `example.org/x` and `example.org:8080`, which the standard would take for a path and for a scheme.
_NO_SCHEME = re.compile(r"(?://)?([^\s/?#@:\\]+)(?::\d+)?(?:[/?#]|$)")
_LABEL_CHARS = 63


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a URL in normal form. `host` is as in the URL, an IPv6 address in brackets; `path` has the query.

    `address` is the IP address that the host stands for in itself; empty where it is a name.
    """

    scheme: str
    host: str
    port: int
    path: str
    address: str = ""

    @property
    def name(self) -> str:
        """The host as certificates and policies know it: without brackets and without the root's dot."""
        return self.address or self.host.rstrip(".")

    @property
    def authority(self) -> str:
        """Host and port as the header `Host` has them: the scheme's own port is left out."""
        return self.host if self.port == _PORTS[f"{self.scheme}:"] else f"{self.host}:{self.port}"


def normal_url(text: str, base: str | None = None) -> str:
    """The normal form of an http or https URL, without its fragment; relative ones are read against `base`.

    Raises FetchError: `bad_url` for what is none, `blocked` for one with a user name or password.
    """
    return _without_fragment(_parsed(text, base))


def page_url(text: str) -> str:
    """As `normal_url`, for what a model or a person writes: `https://` is added where `example.org/x` lacks it."""
    text = text.strip()
    bare = _NO_SCHEME.match(text)
    if bare and "." in bare[1] and bare[1][-1].isalpha():
        text = f"https://{text.removeprefix('//')}"
    return normal_url(text)


def target_of(url: str) -> Target:
    """Splits a URL; raises FetchError as `normal_url` does."""
    parsed = _parsed(url, None)
    named = parsed.host_type == HostType.DEFAULT
    return Target(
        scheme=parsed.protocol.removesuffix(":"),
        host=parsed.hostname,
        port=int(parsed.port) if parsed.port else _PORTS[parsed.protocol],
        # Not of path and query by themselves, which do not tell an empty query from none.
        path=_without_fragment(parsed).removeprefix(f"{parsed.protocol}//{parsed.host}"),
        address="" if named else parsed.hostname.strip("[]"),
    )


def request_key(method: str, url: str, body_digest: str = "", language: str = "en") -> str:
    """By which a request is found again: the same when live, recorded and replayed. `url` is in normal form."""
    return digest_json([method, url, body_digest, language])


def _parsed(text: str, base: str | None) -> URL:
    if len(text) > MAX_URL_CHARS:
        raise FetchError(f"the URL is longer than {MAX_URL_CHARS:,} characters", code="bad_url")
    try:
        url = URL(clean_text(text), None if base is None else clean_text(base))
    except ValueError:
        raise FetchError(f"{_shown(text)} is no valid URL", code="bad_url") from None
    if url.protocol not in _PORTS:
        raise FetchError(f"{_shown(text)}: only http and https URLs can be opened", code="bad_url")
    if url.username or url.password:
        message = f"{_shown(text)}: a URL with a user name or password is not opened"
        raise FetchError(message, code="blocked", policy=True)
    if "xn--" in url.hostname and not _is_idna(url.hostname):
        raise FetchError(f"{_shown(text)} names no valid host", code="bad_url")
    if len(url.href) > MAX_URL_CHARS:
        raise FetchError(f"the URL is longer than {MAX_URL_CHARS:,} characters", code="bad_url")
    return url


def _without_fragment(url: URL) -> str:
    del url.hash
    return str(url.href)


def _is_idna(host: str) -> bool:
    """Whether the host's encoded labels are what their own decoding is encoded to.

    ada checks the labels that it encodes, but lets pass what comes encoded (`xn--`, overflowing numbers).
    """
    try:
        decoded = ".".join(map(_decoded_label, host.split(".")))
        return bool(URL(f"http://{decoded}/").hostname == host)
    except ValueError:
        return False


def _decoded_label(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    if len(label) > _LABEL_CHARS:
        raise ValueError(label)
    return label[4:].encode("ascii").decode("punycode")


def _shown(text: str) -> str:
    return one_line(text, 300)
