"""toolablate.traces.records.models"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Discriminator, Field, JsonValue, Tag, field_validator, model_validator

from toolablate.traces.paths import PathText
from toolablate.traces.records._base import Record, TaggedRecord

# Looser than any reader of addresses: what one of them would take for a user's name has to be found.
_USER_INFO = re.compile(r"\s*(?:[\w+.-]+:)?[/\\]*[^/?#]*@")


class Sampling(Record):
    """Sampling parameters; what is not set is not sent. `extra` goes into the request body as it is. `logprobs` asks
    for the log probabilities of the reply, `top_logprobs` for those of so many alternatives to each token."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = Field(default=None, gt=0)
    seed: int | None = None
    reasoning_effort: str | None = None
    logprobs: bool = False
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    extra: dict[str, JsonValue] = Field(default_factory=dict)


Amount = Annotated[float, Field(ge=0, strict=True)]


class Rates(Record):
    """US dollars per million tokens; reasoning counts as output.

    `cached_input` is for what was read from the endpoint's cache, `cache_write` for what was written to it; None is the
    price of `input`.
    """

    input: Amount
    output: Amount
    cached_input: Amount | None = None
    cache_write: Amount | None = None


class PriceTier(Rates):
    """The rates of a whole request that has more than `above` tokens of input."""

    above: int = Field(ge=0, strict=True)


class Price(Rates):
    """The rates of a model, and those of its longer requests in `tiers`, by ascending length.

    `calls` has the US dollars per call of the provider's own tools, by the names of the calls. `source` tells where it
    comes from: the plan, a file of prices, or the price table with its version.
    """

    table: ClassVar[str] = "genai-prices"

    tiers: tuple[PriceTier, ...] = ()
    calls: dict[str, Amount] = Field(default_factory=dict)
    source: str = ""

    @property
    def from_table(self) -> bool:
        """Whether the price table says it, and not the user."""
        return self.source.startswith(f"{self.table} ")

    @model_validator(mode="after")
    def _tiers_ascend(self) -> Self:
        starts = [tier.above for tier in self.tiers]
        if starts != sorted(set(starts)):
            raise ValueError(f"tiers: `above` should ascend from tier to tier; found {starts}")
        return self


class Capabilities(Record):
    """What an endpoint takes, as declared by its user or found out by `toolablate doctor --capabilities`; None is not
    known.

    `max_tokens_key` is the name under which it takes the limit of a reply. What is False is refused before anything is
    asked, where a plan wants it.
    """

    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] | None = None
    tools: bool | None = None
    tool_choice_required: bool | None = None
    parallel_tool_calls: bool | None = None
    seed: bool | None = None
    logprobs: bool | None = None
    encrypted_reasoning: bool | None = None
    images: bool | None = None


class Batch(Record):
    """How requests go into batches of OpenAI's batch API, https://platform.openai.com/docs/guides/batch.

    `price_factor` is what a batch costs of the price of direct requests; `requests` is the most that wait for a batch
    at a time, over all of them.
    """

    price_factor: float = Field(default=0.5, ge=0, le=1)
    requests: int = Field(default=50_000, gt=0)


class _Model(TaggedRecord):
    tags: ClassVar[tuple[str, ...]] = ("provider", "version")


class OpenAIModel(_Model):
    """A model behind an OpenAI-compatible endpoint, by Chat Completions or by Responses.

    `concurrency` is the most requests in flight; how many there are adapts to what the endpoint takes. The two rates
    are limits of the account. `timeout_seconds` is for one request. With `batch`, in a plan also `batch = true`, a run
    asks in batches where a condition lets no tool be called; the pace of direct requests is not that of batches.

    The key is read from the environment variable `api_key_env`. Where that is "", the variable is OPENAI_API_KEY for
    OpenAI itself, and any other endpoint gets no key.
    """

    # An error that quoted an endpoint with a password in it would spread it.
    model_config = ConfigDict(hide_input_in_errors=True)

    not_identity: ClassVar[frozenset[str]] = frozenset(
        {
            "api_key_env",
            "price",
            "timeout_seconds",
            "concurrency",
            "requests_per_minute",
            "tokens_per_minute",
            "capabilities",
            "batch",
        }
    )

    version: Literal[1] = 1
    provider: Literal["openai"] = "openai"
    name: str = Field(min_length=1)
    endpoint: str = "https://api.openai.com/v1"
    api: Literal["chat", "responses"] = "chat"
    model: str = ""
    sampling: Sampling = Sampling()
    api_key_env: str = ""
    price: Price | None = None
    capabilities: Capabilities = Capabilities()
    timeout_seconds: float = Field(default=120.0, gt=0)
    concurrency: int = Field(default=32, gt=0)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    batch: Batch | None = None

    @property
    def wire_name(self) -> str:
        """The model's name in requests."""
        return self.model or self.name

    @property
    def max_tokens(self) -> int | None:
        """The most tokens that a reply can have."""
        return self.sampling.max_tokens

    @property
    def extra(self) -> Mapping[str, JsonValue]:
        """What goes into requests beside what the records name."""
        return self.sampling.extra

    @property
    def is_openai(self) -> bool:
        """Whether the endpoint is OpenAI's own."""
        try:
            parts = urlsplit(self.endpoint)
        except ValueError:
            return False
        return parts.scheme == "https" and parts.hostname == "api.openai.com"

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the key to send; "" where none is sent."""
        return self.api_key_env or ("OPENAI_API_KEY" if self.is_openai else "")

    @field_validator("batch", mode="before")
    @classmethod
    def _true_or_false(cls, given: object) -> object:
        return (Batch() if given else None) if isinstance(given, bool) else given

    @model_validator(mode="after")
    def _endpoint_holds_no_secret(self) -> Self:
        if _USER_INFO.match(self.endpoint):
            raise ValueError(
                f"endpoint of {self.name!r}: a user name or password in it would be stored;"
                " put the secret into an environment variable and name that as api_key_env"
            )
        if "?" in self.endpoint or "#" in self.endpoint:
            raise ValueError(
                f"endpoint of {self.name!r}: a query or fragment (? or #) in it may be a secret and"
                " would be stored; leave it out (API paths are appended to the endpoint)"
            )
        return self


# What names a secret, at the end of a name in snake case.
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:api_?key|access_key(?:_id)?|(?<!cache_)key|secret|token|pass(?:word|wd|phrase)|credentials?"
    r"|authorization|auth|bearer|cookie)$"
)
_SECRET_VALUE = re.compile(r"^(?:bearer|basic) \S|^(?:sk|key|ghp|xai|gsk)[-_]\S{16}", re.IGNORECASE)
_WORDS_BEGIN = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^a-zA-Z0-9]+")
_ADDRESS_NAME = re.compile(r"(?:^|_)(?:base_url|api_url|api_base|endpoint|endpoint_url|azure_endpoint)$")
# The arguments under which classes take the model's name.
_MODEL_NAMES = ("model", "model_name", "model_id")
_LONGEST_REPLY = ("max_tokens", "max_output_tokens", "max_completion_tokens", "max_tokens_to_sample", "num_predict")
# Where the packages of LangChain ask if nothing else is said.
_APIS = {
    "langchain_anthropic": "https://api.anthropic.com",
    "langchain_cohere": "https://api.cohere.com",
    "langchain_deepseek": "https://api.deepseek.com",
    "langchain_fireworks": "https://api.fireworks.ai",
    "langchain_google_genai": "https://generativelanguage.googleapis.com",
    "langchain_groq": "https://api.groq.com",
    "langchain_mistralai": "https://api.mistral.ai",
    "langchain_openai": "https://api.openai.com/v1",
    "langchain_perplexity": "https://api.perplexity.ai",
    "langchain_together": "https://api.together.xyz",
    "langchain_xai": "https://api.x.ai",
}


class LangChainModel(_Model):
    """A model behind a chat model of LangChain, by the provider's own API.

    `class_path`, in a plan `class`, is `module:Class`; `kwargs` are its arguments, sampling among them. The class gets
    `wire_name` as its model, the timeout, and the key that the environment variable `api_key_env` holds; where that is
    "", it reads a key or credentials itself. `package` is the distribution of the class with its version, and
    `source_digest` that of a module that no distribution has; both are filled in when a plan is read. The other fields
    are those of `OpenAIModel`.
    """

    # An error that quoted a key would spread it.
    model_config = ConfigDict(
        hide_input_in_errors=True, validate_by_name=True, validate_by_alias=True, serialize_by_alias=True
    )

    not_identity: ClassVar[frozenset[str]] = frozenset(
        {
            "api_key_env",
            "package",
            "price",
            "timeout_seconds",
            "concurrency",
            "requests_per_minute",
            "tokens_per_minute",
        }
    )

    version: Literal[1] = 1
    provider: Literal["langchain"] = "langchain"
    name: str = Field(min_length=1)
    class_path: str = Field(alias="class", pattern=r"^\w[\w.]*:\w[\w.]*$")
    model: str = ""
    kwargs: dict[str, JsonValue] = Field(default_factory=dict)
    api_key_env: str = ""
    package: str = ""
    source_digest: str = ""
    price: Price | None = None
    timeout_seconds: float = Field(default=120.0, gt=0)
    concurrency: int = Field(default=32, gt=0)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)

    @property
    def module(self) -> str:
        return self.class_path.partition(":")[0]

    @property
    def wire_name(self) -> str:
        """The model's name in requests."""
        named = next((self.kwargs[key] for key in _MODEL_NAMES if key in self.kwargs), "")
        return str(named or self.model or self.name)

    @property
    def names_its_model(self) -> bool:
        """Whether `kwargs` hold the model's name."""
        return any(key in self.kwargs for key in _MODEL_NAMES)

    @property
    def endpoint(self) -> str:
        """The address of the API as far as arguments and class tell it, else the class."""
        named = (value for key, value in self.kwargs.items() if _ADDRESS_NAME.search(key) and isinstance(value, str))
        if found := next(named, ""):
            return found
        of_others = "Azure" in self.class_path or self.kwargs.get("vertexai")
        return self.class_path if of_others else _APIS.get(self.module.partition(".")[0], self.class_path)

    @property
    def key_variable(self) -> str:
        """The environment variable that the plan names for the key; "" where the class finds its own."""
        return self.api_key_env

    @property
    def max_tokens(self) -> int | None:
        """The most tokens that a reply can have, where the arguments tell it."""
        limits = (self.kwargs.get(key) for key in _LONGEST_REPLY)
        return next((limit for limit in limits if type(limit) is int and limit > 0), None)

    @property
    def extra(self) -> Mapping[str, JsonValue]:
        """What goes into requests beside what the records name."""
        more = self.kwargs.get("model_kwargs")
        return {**self.kwargs, **more} if isinstance(more, dict) else self.kwargs

    @model_validator(mode="after")
    def _kwargs_hold_no_secret(self) -> Self:
        found = secret_in(self.kwargs, "kwargs")
        if found:
            raise ValueError(
                f"{found} of {self.name!r}: this looks like a secret, which would be stored; put it into an environment"
                " variable and name that as api_key_env, or leave it out if the class reads its own variable"
            )
        return self

    @model_validator(mode="after")
    def _the_model_is_named_once(self) -> Self:
        if self.model and self.names_its_model:
            raise ValueError(f"kwargs of {self.name!r}: they name a model, and `model` names one too; leave one out")
        return self


def secret_in(value: JsonValue, key: str) -> str:
    """The path to the first part that looks like a secret, by its name or by itself; "" where none does."""
    if isinstance(value, list):
        inner = ((f"{key}[{place}]", part) for place, part in enumerate(value))
        return next((found for name, part in inner if (found := secret_in(part, name))), "")
    if isinstance(value, dict):
        for name, part in value.items():
            held = isinstance(part, str | list | dict) and part
            if held and _SECRET_NAME.search(_WORDS_BEGIN.sub("_", name).lower().strip("_")):
                return f"{key}.{name}"
            if found := secret_in(part, f"{key}.{name}"):
                return found
        return ""
    if not isinstance(value, str):
        return ""
    in_address = "://" in value and (_USER_INFO.match(value) or "?" in value)
    return key if in_address or _SECRET_VALUE.match(value.strip()) else ""


class AgentModel(_Model):
    """An agent of the user's own, with models and tools of its own.

    `agent` is `module:attribute`: a LangGraph graph whose state has messages, or a function over messages.
    `keep_tools` are patterns (`write_*`) of names of its tools that belong to how it works: every condition lets them
    pass, and none replaces their results. `package` and `source_digest` are as those of `LangChainModel`; the digest
    is that of the module and of those beside it that it imports. `timeout_seconds` is for one request of one of its
    models, and `concurrency` how many of them are in flight. The other fields are those of `OpenAIModel`.
    """

    not_identity: ClassVar[frozenset[str]] = frozenset(
        {"package", "price", "timeout_seconds", "concurrency", "requests_per_minute", "tokens_per_minute"}
    )
    key_variable: ClassVar[str] = ""
    max_tokens: ClassVar[int | None] = None
    extra: ClassVar[Mapping[str, JsonValue]] = {}

    version: Literal[1] = 1
    provider: Literal["langgraph"] = "langgraph"
    name: str = Field(min_length=1)
    agent: str
    keep_tools: tuple[str, ...] = ()
    package: str = ""
    source_digest: str = ""
    price: Price | None = None
    timeout_seconds: float = Field(default=120.0, gt=0)
    concurrency: int = Field(default=8, gt=0)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)

    @field_validator("agent")
    @classmethod
    def _agent_is_named(cls, agent: str) -> str:
        if not re.fullmatch(r"\w[\w.]*:\w[\w.]*", agent):
            raise ValueError(f"agent: should be module:attribute, as in 'my_agent:graph'; found {agent[:80]!r}")
        return agent

    @property
    def module(self) -> str:
        return self.agent.partition(":")[0]

    @property
    def wire_name(self) -> str:
        """Its models have names of their own, which their replies tell."""
        return self.name

    @property
    def endpoint(self) -> str:
        """What is asked: no address is known."""
        return self.agent


ServedModel = OpenAIModel | LangChainModel | AgentModel
"""A model that somebody serves: it has a price, a pace and a key, its replies can be recorded, and it may be down."""


class ScriptedModel(_Model):
    """Recorded replies, read from a JSONL file whose digest is part of the model's identity."""

    not_identity: ClassVar[frozenset[str]] = frozenset({"script", "concurrency"})

    version: Literal[1] = 1
    provider: Literal["scripted"] = "scripted"
    name: str = Field(min_length=1)
    script: PathText
    script_digest: str = ""
    concurrency: int = Field(default=8, gt=0)


class SimulatedModel(_Model):
    """A stochastic stand-in with latent beliefs over the options. Never to be shown as a real model.

    ability         probability that its belief peaks at the right option before any tool is used
    confidence      how peaked the belief is, in nats
    eagerness       probability that it uses a tool that it is offered
    literalness     probability that it programs a finite, numeric stand-in instead of the question asked (lock-in)
    trust           how far a tool's result moves the belief, in nats for one clear match
    carelessness    probability that the answer is written so that no letter or number can be extracted
    scenarios       a file that says of each question what the model believes and does, in place of all of these
    """

    not_identity: ClassVar[frozenset[str]] = frozenset({"playbook", "scenarios", "concurrency"})

    version: Literal[1] = 1
    provider: Literal["simulated"] = "simulated"
    name: str = Field(min_length=1)
    seed: int = 0
    ability: float = Field(default=0.7, ge=0, le=1)
    confidence: float = Field(default=2.0, ge=0)
    eagerness: float = Field(default=0.9, ge=0, le=1)
    literalness: float = Field(default=0.3, ge=0, le=1)
    trust: float = Field(default=3.0, ge=0)
    carelessness: float = Field(default=0.0, ge=0, le=1)
    playbook: PathText = ""
    playbook_digest: str = ""
    scenarios: PathText = ""
    scenarios_digest: str = ""
    concurrency: int = Field(default=8, gt=0)


class ImportedModel(_Model):
    """A model that another harness asked, by the name that its log gives it. It can be asked nothing any more, so
    that `concurrency` limits nothing."""

    concurrency: ClassVar[int] = 1

    version: Literal[1] = 1
    provider: Literal["imported"] = "imported"
    name: str = Field(min_length=1)


class RegisteredModel(_Model):
    """A model of a provider that an installed package registers in the entry-point group `toolablate.providers`.

    `options` are the provider's own; `package` is the package with its version, which is filled in when a plan is read.
    """

    not_identity: ClassVar[frozenset[str]] = frozenset({"concurrency"})

    version: Literal[1] = 1
    provider: str = Field(min_length=1)
    name: str = Field(min_length=1)
    options: dict[str, JsonValue] = Field(default_factory=dict)
    package: str = ""
    concurrency: int = Field(default=8, gt=0)


_OURS = frozenset({"openai", "langchain", "langgraph", "scripted", "simulated", "imported"})


def _kind_of(model: object) -> str | None:
    if isinstance(model, dict) and "agent" in model and "provider" not in model:
        return "langgraph"
    provider = model.get("provider") if isinstance(model, dict) else getattr(model, "provider", None)
    if not isinstance(provider, str):
        return None
    return provider if provider in _OURS else "registered"


class _Context(dict[str, Any]):
    """Hashable, as an annotation has to be where `Model | None` is written."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))


Model = Annotated[
    Annotated[OpenAIModel, Tag("openai")]
    | Annotated[LangChainModel, Tag("langchain")]
    | Annotated[AgentModel, Tag("langgraph")]
    | Annotated[ScriptedModel, Tag("scripted")]
    | Annotated[SimulatedModel, Tag("simulated")]
    | Annotated[ImportedModel, Tag("imported")]
    | Annotated[RegisteredModel, Tag("registered")],
    Discriminator(
        _kind_of,
        custom_error_type="union_tag_not_found",
        custom_error_context=_Context(discriminator="'provider'"),
    ),
]
