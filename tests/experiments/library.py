"""The documents of the built-in corpus as a web site, with a search engine before them that speaks SearXNG's JSON.

It drifts, as the live web does: no two visits of a page and no two searches give quite the same.
"""

import gzip
import html
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from toolablate.benchmarks.builtin import BUILTIN_CORPUS

WORD = re.compile(r"\w{3,}")


@dataclass
class Library:
    """`url` is the site and `search` the search engine, both on one port; `requests` are the paths asked for. There is a
    robots.txt where `robots` holds it. While it is `down`, pages are not to be had."""

    url: str = ""
    robots: str = ""
    down: bool = False
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        lines = BUILTIN_CORPUS.read_text(encoding="utf-8").splitlines()
        self._documents = {each["id"]: each for each in map(json.loads, lines)}
        self._visits = count(1)

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def pages(self) -> list[str]:
        """The addresses as the search engine gives them; each redirects."""
        return [f"{self.url}/doc/{quote(id)}" for id in self._documents]

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        self.requests.append(path)
        parts = urlsplit(path)
        kind, _, name = parts.path.strip("/").partition("/")
        if kind == "robots.txt" and self.robots:
            return 200, {"Content-Type": "text/plain"}, self.robots.encode()
        if kind == "search":
            return 200, {"Content-Type": "application/json"}, json.dumps(self._found(parse_qs(parts.query))).encode()
        if kind == "doc" and name in self._documents:
            return 301, {"Location": f"/pages/{name}?from=search"}, b""
        if kind == "pages" and self.down:
            return 503, {"Retry-After": "60"}, b""
        if kind == "pages" and name in self._documents:
            page = self._page(name).encode()
            headers = {"Content-Type": "text/html; charset=utf-8"}
            return (
                (200, headers, page)
                if len(name) % 2
                else (200, headers | {"Content-Encoding": "gzip"}, gzip.compress(page))
            )
        return 404, {"Content-Type": "text/plain"}, b"no such page"

    def _found(self, asked: dict[str, list[str]]) -> dict[str, Any]:
        query = asked["q"][0]
        wanted = set(WORD.findall(query.lower()))
        serial = next(self._visits)

        def fit(document: dict[str, Any]) -> int:
            return len(wanted & set(WORD.findall(f"{document['title']} {document['text']}".lower())))

        ranked = sorted(self._documents.values(), key=lambda each: (-fit(each), each["id"]))
        results = [
            {
                "url": f"{self.url}/doc/{quote(each['id'])}",
                "title": each["title"],
                "content": f"{each['text'][:150]} (search {serial})",
                "engine": "library",
                "publishedDate": each.get("published"),
            }
            for each in ranked[:10]
            if fit(each)
        ]
        return {"query": query, "number_of_results": len(results), "results": results, "unresponsive_engines": []}

    def _page(self, name: str) -> str:
        document = self._documents[name]
        neighbour = next(iter(self._documents))
        title, text = html.escape(document["title"]), html.escape(document["text"])
        return (
            f"<!doctype html><html lang='en'><head><title>{title}</title></head><body>"
            "<nav><a href='/'>Home</a> <a href='/about'>About</a></nav>"
            f"<article><h1>{title}</h1><p>{text}</p><p>This page was read {next(self._visits)} times. See also"
            f" <a href='/doc/{quote(neighbour)}'>another page of this library</a> for more on the matter.</p></article>"
            "<footer>Printed matter, all rights reserved</footer></body></html>"
        )

    @contextmanager
    def running(self) -> Iterator["Library"]:
        library = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, headers, body = library.answer(self.path)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                return None

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            self.url = f"http://127.0.0.1:{server.server_address[1]}"
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
            thread.start()
            try:
                yield self
            finally:
                server.shutdown()
                thread.join(10)
