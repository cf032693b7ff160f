"""toolablate.traces.records.models"""

import re
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Discriminator, Field, JsonValue, Tag, model_validator

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

    `source` tells where it comes from: the plan, a file of prices, or the price table with its version.
    """

    table: ClassVar[str] = "genai-prices"

    tiers: tuple[PriceTier, ...] = ()
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


class _Model(TaggedRecord):
    tags: ClassVar[tuple[str, ...]] = ("provider", "version")


class OpenAIModel(_Model):
    """A model behind an OpenAI-compatible endpoint, by Chat Completions or by Responses.

    `concurrency` is the most requests in flight; how many there are adapts to what the endpoint takes. The two rates
    are limits of the account. `timeout_seconds` is for one request.

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

    @property
    def wire_name(self) -> str:
        """The model's name in requests."""
        return self.model or self.name

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


_OURS = frozenset({"openai", "scripted", "simulated", "imported"})


def _kind_of(model: object) -> str | None:
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
