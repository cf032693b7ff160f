"""What the environment says of proxies and certificates; where it is wrong, its variable is named and not quoted."""

import os
import ssl
from importlib.util import find_spec
from urllib.request import getproxies

import httpx2

from toolablate.traces.errors import InputError


def require_proxies() -> None:
    """Raises InputError where a proxy is named that no client can use."""
    for scheme, address in getproxies().items():
        if scheme not in ("http", "https", "all"):
            continue
        try:
            proxy = httpx2.Proxy(address if "://" in address else f"http://{address}")
        except (ValueError, httpx2.InvalidURL):
            raise _unusable(scheme, "is no address of a proxy", "write it as http://host:port, or unset it") from None
        if proxy.url.scheme.startswith("socks") and find_spec("socksio") is None:
            raise _unusable(scheme, "names a SOCKS proxy", "install the package socksio, or name an HTTP proxy")


def open_certificates() -> ssl.SSLContext:
    """The certificates to trust. Raises InputError where those that SSL_CERT_FILE names cannot be read."""
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        variable = next((name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)), "")
        if not variable:
            raise
        raise InputError(
            f"the certificates that the environment variable {variable} names cannot be read: {error.strerror}",
            hint="let it name a file of certificates in PEM format, or unset it",
            code="bad_certificates",
        ) from None


def _unusable(scheme: str, why: str, hint: str) -> InputError:
    names = (f"{scheme}_proxy", f"{scheme}_proxy".upper())
    variable = next((name for name in names if name in os.environ), names[0])
    return InputError(f"the environment variable {variable} {why}", hint=hint, code="bad_proxy")
