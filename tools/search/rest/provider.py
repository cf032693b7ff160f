"""A search service as a provider: asks it, and makes an envelope of whatever comes back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pydantic import JsonValue

from toolablate.tools.plain import one_line
from toolablate.tools.search.envelope import ranked, raw_digest
from toolablate.tools.search.lookup import normal_query
from toolablate.tools.search.provider import Searched, SearchQuery
from toolablate.tools.search.rest.client import CLIENT_VERSION, ApiReply, ApiRequest, Limits, NoReplyError, send
from toolablate.tools.search.rest.redaction import Redaction
from toolablate.tools.search.rest.service import Listing, Service, UnexpectedReplyError
from toolablate.tools.search.rest.statuses import Refusal, message_of, refusal
from toolablate.tools.search.robot_checks import is_robot_check
from toolablate.traces.records import SearchReply, SearchResult, clean_text


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of a search. `raw` is the body of the reply, if there was one."""

    fetched_at: datetime
    raw: bytes = b""
    refusal: Refusal | None = None
    results: tuple[SearchResult, ...] = ()
    detail: str = ""


class RestSearch:
    """One request for each search, at most one page of results. The key is in no envelope, error or `repr`."""

    def __init__(self, service: Service, key: str = "", *, limits: Limits | None = None) -> None:
        self._service = service
        self._key = key
        self._redaction = Redaction(key)
        self._limits = limits or Limits()

    @property
    def name(self) -> str:
        return self._service.traits.name

    @property
    def parameters(self) -> Mapping[str, JsonValue]:
        return self._service.parameters

    async def search(self, asked: SearchQuery) -> Searched:
        query, cut = self._sent_query(asked.query)
        request = self._service.request(replace(asked, query=query))
        outcome = await self._ask(request, asked)
        query_parameter = self._service.traits.query_parameter
        sent = {name: value for name, value in request.parameters.items() if name != query_parameter}
        failed = outcome.refusal
        reply = SearchReply(
            query=clean_text(asked.query),
            parameters={**self.parameters, **sent},
            fetched_at=outcome.fetched_at,
            provider=self.name,
            engine=self._service.traits.engine,
            client_version=CLIENT_VERSION,
            status=failed.status if failed else "ok" if outcome.results else "empty",
            results=outcome.results,
            detail=self._redaction.text(
                "; ".join(part for part in (failed.detail if failed else outcome.detail, cut) if part)
            ),
            lasting=failed is not None and failed.lasting,
            retry_after=failed.retry_after if failed else None,
            raw_digest=raw_digest(outcome.raw),
        )
        return Searched(reply, outcome.raw)

    async def _ask(self, request: ApiRequest, asked: SearchQuery) -> _Outcome:
        try:
            reply = await send(request, self._service.key_headers(self._key), self._limits)
        except NoReplyError as error:
            return _Outcome(datetime.now(UTC), refusal=Refusal(error.status, error.message))
        # A service may say in an error, or wherever it likes, what key it was sent.
        reply = self._redaction.reply(reply)
        now = datetime.now(UTC)
        listing = self._listing(reply, asked.query, now)
        if listing.refusal:
            return _Outcome(now, reply.body, listing.refusal)
        ranking = ranked(listing.findings, asked, now)
        if listing.findings and not ranking.results and not ranking.left_out:
            nowhere = Refusal("error", f"none of {len(listing.findings)} results has a web address")
            return _Outcome(now, reply.body, nowhere)
        dated = f"{ranking.left_out} left out by date" if ranking.left_out else ""
        detail = "; ".join(part for part in (listing.detail, dated) if part)
        results = tuple(map(self._redaction.result, ranking.results))
        return _Outcome(now, reply.body, results=results, detail=detail)

    def _listing(self, reply: ApiReply, query: str, now: datetime) -> Listing:
        if refused := refusal(reply, self._service.traits.quirks, now):
            return Listing((), refused)
        try:
            content: JsonValue = json.loads(reply.body)
        except (ValueError, RecursionError):
            return Listing((), _no_json(reply, query))
        try:
            return self._service.listing(content)
        except UnexpectedReplyError as error:
            said = message_of(reply.body)
            return Listing((), Refusal("error", f"{error}{': ' if said else ''}{said}"))

    def _sent_query(self, query: str) -> tuple[str, str]:
        """The query within what the service takes, and a remark where it had to be cut for that.

        A service that refused it would spoil the trial; people who type too much into a search box lose the end too.
        """
        traits = self._service.traits
        query = normal_query(clean_text(query))
        short = query
        if traits.query_words and len(words := query.split()) > traits.query_words:
            short = " ".join(words[: traits.query_words])
        if traits.query_chars and len(short) > traits.query_chars:
            whole, blank, _ = short[: traits.query_chars + 1].rpartition(" ")
            short = whole if blank else short[: traits.query_chars]
        return short, "" if short == query else f"the query was cut to {len(short)} characters"


def _no_json(reply: ApiReply, query: str) -> Refusal:
    text = reply.body.decode("utf-8", "replace")
    if is_robot_check(text, query):
        return Refusal("blocked", "a robot check")
    kind = one_line(reply.headers.get("content-type", "no content type"), 60)
    return Refusal("error", f"the reply is no JSON ({kind}, {len(reply.body):,} bytes)")
