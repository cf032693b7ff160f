"""The sections of a plan on the web, MCP servers, placebo sources, judges, recorded replies and clusters."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails

from toolablate.tools.text import one_line
from toolablate.tools.user_code import load_own, registered
from toolablate.traces.errors import InputError
from toolablate.traces.paths import PathText
from toolablate.traces.plugins import is_not
from toolablate.traces.records import Condition, LangChainModel, OpenAIModel, ScriptedModel
from toolablate.traces.validation import explain

if TYPE_CHECKING:
    from toolablate.tools.web import WebPolicy

Port = Annotated[int, Field(gt=0, lt=65_536)]


def _moment(value: object) -> date | datetime:
    """A day or a moment, as TOML has them or as text. A number is neither: it would be taken for seconds since 1970."""
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        for read in (date.fromisoformat, datetime.fromisoformat):
            with suppress(ValueError):
                return read(value)
    raise ValueError(f"web.as_of: should be a day or a moment, as in as_of = 2026-01-01; found {str(value)[:60]!r}")


class Section(BaseModel):
    """A table of a plan."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


# What a plan holds, of whatever kind.


S = TypeVar("S", bound=Section)


def valid_plan(kind: type[S], content: Mapping[str, Any], path: Path) -> S:
    """Raises InputError that names the key, what was found and what is allowed."""
    try:
        plan = kind.model_validate(content)
        _require_types(kind, content)
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error, kind)}", code="bad_plan") from None
    return plan


def _require_types(kind: type[Section], content: Mapping[str, Any]) -> None:
    """Raises ValidationError where a text stands for a number or a truth value. Strict validation as a whole would
    also refuse a whole number that is written as 1e6."""
    try:
        kind.model_validate_json(json.dumps(content, default=str), strict=True)
    except ValidationError as error:
        wrong: list[InitErrorDetails] = [
            {"type": item["type"], "loc": item["loc"], "input": item["input"]}
            for item in error.errors(include_url=False)
            if item["type"] == "bool_type"
            or (item["type"] in ("int_type", "float_type") and isinstance(item["input"], str | bool))
        ]
        if wrong:
            raise ValidationError.from_exception_data(error.title, wrong) from None


class WebSection(Section):
    """`live` asks the web, `record` asks the archive first and keeps what is new, `replay` asks only the archive.

    `as_of` leaves out what was captured later: a date counts whole, and times without a zone are UTC. `allow` names
    the private `host:port`s that pages may be read from. `blocked_hosts` (a host, with its subdomains, or `host/path`)
    and leaks, with `block_leaks`, are kept from models under every condition.
    """

    mode: Literal["live", "record", "replay"] = "live"
    archive: PathText = ""
    as_of: Annotated[date | datetime, BeforeValidator(_moment)] | None = None
    allow: tuple[str, ...] = ()
    ports: tuple[Port, ...] = (80, 443, 8080, 8443)
    robots: StrictBool = True
    delay_seconds: float = Field(default=1.0, ge=0, le=3_600)
    blocked_hosts: tuple[str, ...] = ()
    block_leaks: StrictBool = False
    language: str = "en"

    @model_validator(mode="after")
    def _policy_can_be_kept(self) -> Self:
        try:
            _ = self.policy
        except ValueError as error:
            raise ValueError(f"web.{error}") from None
        return self

    @model_validator(mode="after")
    def _an_archive_is_named(self) -> Self:
        if self.mode != "live" and not self.archive:
            raise ValueError(
                f'web.archive: missing; mode = "{self.mode}" needs a folder, as in archive = "web-archive"'
            )
        if self.as_of is not None and self.mode != "replay":
            raise ValueError(
                f'web.as_of: only mode = "replay" knows when something was captured; mode is "{self.mode}"'
            )
        return self

    @property
    def policy(self) -> "WebPolicy":
        from toolablate.tools.web import WebPolicy

        return WebPolicy(
            ports=self.ports,
            allow=frozenset(self.allow),
            blocked_hosts=frozenset(self.blocked_hosts),
            robots=self.robots,
            delay_seconds=self.delay_seconds,
            language=self.language,
        )

    @property
    def until(self) -> datetime | None:
        """The last moment that `as_of` lets through."""
        if self.as_of is None or isinstance(self.as_of, datetime):
            return self.as_of.replace(tzinfo=self.as_of.tzinfo or UTC) if self.as_of else None
        return datetime.combine(self.as_of, time.max, tzinfo=UTC)


class SearchSection(Section):
    """`corpus` is offline, over documents of the user's own or "builtin"; the others ask a service.

    `backend` is the one engine that ddgs asks, or the engines of a SearXNG; `endpoint` is where a SearXNG listens;
    `options` are the service's own.
    """

    provider: str
    corpus: PathText = ""
    backend: str = ""
    endpoint: str = ""
    api_key_env: str = ""
    region: str = ""
    options: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _what_it_needs_is_named(self) -> Self:
        if self.provider != "corpus" and self.provider not in registered("search_providers"):
            there_are = ", ".join(("corpus", *registered("search_providers")))
            wrong = f"there is no provider {one_line(self.provider, 80)!r}"
            raise ValueError(f"search.provider: {wrong}; there are {there_are}")
        if self.provider == "corpus" and not self.corpus:
            raise ValueError(
                "search.corpus: missing; name a JSONL of documents or a folder of them,"
                ' or "builtin" for the toy corpus of the demo'
            )
        if self.provider == "searxng" and not self.endpoint:
            raise ValueError('search.endpoint: missing; name the SearXNG to ask, as in "http://localhost:8888"')
        return self


class McpSection(Section):
    """A server of tools, by its `command`, which is started in `folder` (by default the plan's), or by its `url`.

    `env` names the variables that are passed on to a command, `headers` maps the headers of requests to the variables
    that hold them; their values are never stored. A call that takes more than `seconds` has failed.
    """

    name: str = Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")
    command: tuple[str, ...] = ()
    folder: PathText = ""
    env: tuple[str, ...] = ()
    url: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    seconds: float = Field(default=60.0, gt=0)

    @model_validator(mode="after")
    def _is_a_command_or_a_url(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError(
                f'mcp: {self.name!r} needs either command = ["python", "server.py"] or url = "http://localhost/mcp"'
            )
        if self.url and (self.env or self.folder):
            raise ValueError(f"mcp: {self.name!r} has a url, and `env` and `folder` are for commands; see `headers`")
        if self.command and self.headers:
            raise ValueError(f"mcp: {self.name!r} has a command, and `headers` are for a url; see `env`")
        return self


# The part of a plan that says where the results come from that a placebo shows.


class PlaceboSection(Section):
    """`store` names a store of an earlier run, whose results of the same tools under other questions are shown; ""
    stands for what can be had without one."""

    store: PathText = ""


# The parts of a plan that say who judges answers, and how they are asked.


_Judge = OpenAIModel | LangChainModel | ScriptedModel


def _asked_directly(judge: _Judge) -> _Judge:
    if isinstance(judge, OpenAIModel) and judge.batch is not None:
        raise ValueError(f"judges: {judge.name!r} is asked directly; leave out `batch`")
    return judge


JudgeModel = Annotated[_Judge, Field(discriminator="provider"), AfterValidator(_asked_directly)]
"""A model that can judge: a simulated one has beliefs about questions, and none about answers."""


class JudgingSection(Section):
    """`prompt` is whose words a judge is asked in: our `own`, or those of the `row`, which come with a question.

    `asks` is how often it is asked at most, in all, until a reply keeps the format; `again` is how many times each
    judge grades everything once more.

    Of checklists: `mapping` is whether the texts of all items are extracted from an answer by `each` a request of its
    own or all at `once`; `mapper` names the judge whose model does it for all judges, the first by default; `na` is
    what becomes of items that the reference leaves "N/A".
    """

    prompt: Literal["own", "row"] = "own"
    asks: int = Field(default=3, gt=0)
    again: int = Field(default=0, ge=0)
    mapping: Literal["each", "once"] = "each"
    mapper: str = ""
    na: Literal["published", "out", "recall"] = "published"


# The part of a plan that says whether replies of models are recorded, or given again as they were recorded.


class RepliesSection(Section):
    """`live` asks the endpoint each time, `record` the `file` first and keeps what is new, `replay` only the file.

    It holds for `openai` and `langchain` models; scripted and simulated ones give the same replies by themselves.
    """

    mode: Literal["live", "record", "replay"] = "live"
    file: PathText = Field(default="replies.sqlite", min_length=1)


# The part of a plan that says who makes vectors of texts.


class EmbeddingsSection(Section):
    """An OpenAI-compatible endpoint with `/embeddings`, which no run asks. Keys are sent as to models: of the variable
    that `api_key_env` names, and `OPENAI_API_KEY` to OpenAI's own endpoint."""

    endpoint: str = Field(min_length=1)
    model: str = Field(min_length=1)
    api_key_env: str = ""
    usd_per_million_tokens: float | None = Field(default=None, ge=0)

    @property
    def asked(self) -> OpenAIModel:
        """The endpoint as models are asked."""
        return OpenAIModel(name="embeddings", endpoint=self.endpoint, model=self.model, api_key_env=self.api_key_env)

    @model_validator(mode="after")
    def _endpoint_can_be_asked(self) -> Self:
        _ = self.asked
        return self


# The part of a plan that says on which machines its trials run.


class ClusterSection(Section):
    """Trials run on `workers` of a cluster; None is one for each of its nodes. `address` is HOST:PORT of the cluster,
    "auto" for the one that this machine belongs to, "local" for one of two workers that is started here.

    Each worker reserves `cpus` and has at most `kernels` at once. A trial whose worker was lost is tried `retries`
    times more within a run. The driver copies the store to `backup`; "" for no copies.
    """

    engine: Literal["ray"] = "ray"
    address: str = "auto"
    workers: int | None = Field(default=None, gt=0)
    cpus: float = Field(default=1.0, gt=0)
    kernels: int = Field(default=4, gt=0)
    retries: int = Field(default=2, ge=0)
    backup: PathText = ""

    @field_validator("address")
    @classmethod
    def _address_is_one(cls, address: str) -> str:
        host, _, port = address.rpartition(":")
        # `ray://` is Ray's client, whose driver would run on the cluster.
        named = host and "/" not in host and port.isdecimal() and 0 < int(port) < 65_536
        if address not in ("auto", "local") and not named:
            raise ValueError(
                f"cluster.address: found {one_line(address, 80)!r}, allowed is 'auto', 'local' or HOST:PORT with a port"
                " up to 65535, as 10.0.0.1:6379; and on the command line 'none'"
            )
        return address


# Servers of tools that installed packages name, for plans that have no table of them.


_MCP = "mcp:"


def with_registered(servers: Sequence[McpSection], conditions: Iterable[Condition]) -> tuple[McpSection, ...]:
    """The plan's own, and those that its conditions name besides and a package has. Raises InputError."""
    there = {section.name for section in servers}
    wanted = (name for name in _named(conditions) if name not in there and name in registered("mcp"))
    return (*servers, *map(_registered, dict.fromkeys(wanted)))


def _named(conditions: Iterable[Condition]) -> Iterator[str]:
    for condition in conditions:
        for use in condition.tools:
            if use.name.startswith(_MCP):
                yield use.name.removeprefix(_MCP).partition("/")[0]


def _registered(name: str) -> McpSection:
    key = f"mcp: {name!r}, which a package names"
    found = load_own(name, "mcp")
    if not isinstance(found, Mapping):
        raise InputError(
            f"{key}, {is_not('mapping', found)}",
            hint="an entry point of the group toolablate.mcp is a mapping with the keys of a plan's [[mcp]]",
            code="bad_server",
        )
    try:
        return McpSection.model_validate({"name": name, **found})
    except ValidationError as error:
        raise InputError(f"{key}: {explain(error, McpSection)}", code="bad_server") from None
