"""What is refused before any request, and langchain-core's own fake models."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.agents.conftest import QUESTION as ABOUT
from tests.agents.conftest import LocalTools, condition, double, play_with
from tests.agents.langchain.conftest import DOUBLE, Ask, model

from toolablate.agents import connect, require_capabilities
from toolablate.agents.price_table import Unpriced, table_price
from toolablate.traces.errors import InputError, ModelError
from toolablate.traces.records import Condition, LangChainModel, ToolUse

FAKES = "langchain_core.language_models.fake_chat_models"

OWN = '''
from langchain_core.language_models import BaseChatModel, FakeListLLM
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from pydantic import SecretStr

class Caller(GenericFakeChatModel):
    """Calls a tool first, and says then what it gave."""
    messages: object = None
    temperature: float = 0.5
    odd_api_key: SecretStr = SecretStr("")
    def bind_tools(self, tools, **options):
        return self.bind(tools=tools)
    def _generate(self, messages, stop=None, run_manager=None, **options):
        last = messages[-1]
        said = AIMessage("Answer: " + last.content) if last.type == "tool" else AIMessage(
            "", tool_calls=[{"name": "double", "args": {"x": 21}, "id": "c1"}])
        self.messages = iter([said])
        return super()._generate(messages, stop=stop, run_manager=run_manager)

class Keyed(Caller):
    api_key: SecretStr = SecretStr("")
    @property
    def lc_secrets(self):
        return {"api_key": "KEY_OF_KEYED"}

class Broken(Caller):
    def _generate(self, messages, **options):
        raise KeyError("no such thing")

class Text(FakeListLLM):
    pass

class Unfinished(BaseChatModel):
    pass

def function():
    pass
'''


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "own_models.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("own_models", None)


async def refusal(class_path: str, **fields: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        connect(model(class_path, **fields))
    return caught.value


@pytest.mark.parametrize(
    ("class_path", "code", "told", "hint"),
    [
        ("langchain_nowhere:ChatNowhere", "missing_package", "'langchain_nowhere' is not installed", "pip install langchain-nowhere"),
        ("no_such_module:Chat", "missing_package", "'no_such_module' is not installed", "plan's folder"),
        (f"{FAKES}.deeper:Chat", "no_chat_model", "there is no module", ""),
        (f"{FAKES}:ParrotFakeChatModl", "no_chat_model", "there is no 'ParrotFakeChatModl'", "'ParrotFakeChatModel'"),
        ("own_models:Text", "no_chat_model", "completes texts", ""),
        ("own_models:function", "no_chat_model", "is not a class: it is a function", ""),
        ("own_models:AIMessage", "no_chat_model", "is no chat model", "BaseChatModel"),
        ("own_models:Unfinished", "no_chat_model", "is abstract", ""),
    ],
)  # fmt: skip
async def test_a_class_that_cannot_be_had(class_path: str, code: str, told: str, hint: str) -> None:
    error = await refusal(class_path)
    assert (error.code, class_path in error.message, told in error.message) == (code, True, True), error
    assert hint in error.hint


@pytest.mark.parametrize(
    ("kwargs", "told", "hint"),
    [
        ({"temprature": 1}, "kwargs.temprature is no argument of Caller", "'temperature'"),
        ({"temperature": "hot"}, "kwargs.temperature input should be a valid number", ""),
        ({"streaming": True}, "kwargs.streaming is not yours to set", ""),
        ({"cache": True}, "kwargs.cache is not yours to set", "[replies]"),
    ],
)
async def test_wrong_arguments(kwargs: Any, told: str, hint: str) -> None:
    error = await refusal("own_models:Caller", kwargs=kwargs)
    assert error.code == "bad_kwargs"
    assert told in error.message
    assert "hot" not in error.message
    assert hint in error.hint


async def test_arguments_that_are_ours() -> None:
    pytest.importorskip("langchain_anthropic", reason="langchain-anthropic is not installed (pip install -e .[dev])")
    for key, hint in (("max_retries", "runner.attempts"), ("timeout", "timeout_seconds")):
        error = await refusal("langchain_anthropic:ChatAnthropic", kwargs={key: 3})
        assert (f"kwargs.{key} is not yours" in error.message, hint in error.hint) == (True, True)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"api_key": "x"},
        {"anthropicApiKey": "x"},
        {"default_headers": {"X-Api-Key": "x"}},
        {"extra": [{"Authorization": "x"}]},
        {"aws_secret_access_key": "x"},
        {"aws_session_token": "x"},
        {"header": "Bearer abcdef"},
        {"base_url": "https://me:word@example.org"},
        {"base_url": "https://example.org?key=abc"},
    ],
)
def test_what_looks_like_a_secret_is_refused_by_name(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        model("a:B", kwargs=kwargs)
    said = str(caught.value)
    assert f"kwargs.{next(iter(kwargs))}" in said
    assert "api_key_env" in said
    assert "abc" not in said


async def test_a_key_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEY_OF_KEYED", raising=False)
    error = await refusal("own_models:Keyed", api_key_env="NOT_SET_AT_ALL")
    assert (error.code, "NOT_SET_AT_ALL is not set" in error.message) == ("missing_key", True)
    error = await refusal("own_models:Keyed")
    assert (error.code, "KEY_OF_KEYED is not set" in error.message) == ("missing_key", True)
    monkeypatch.setenv("A_KEY", "k")
    error = await refusal(f"{FAKES}:ParrotFakeChatModel", api_key_env="A_KEY")
    assert (error.code, "takes no key as an argument" in error.message) == ("bad_key", True)
    await connect(model("own_models:Keyed", api_key_env="A_KEY")).close()


def test_a_class_without_tools_is_no_model_for_a_condition_with_them() -> None:
    arm = Condition(name="arm", tools=(ToolUse(name="python"),))
    with pytest.raises(InputError, match="cannot call tools, and condition 'arm' has some"):
        require_capabilities(model(f"{FAKES}:ParrotFakeChatModel"), arm)
    require_capabilities(model(f"{FAKES}:ParrotFakeChatModel"), Condition(name="none"))
    require_capabilities(model("own_models:Caller"), arm)
    strict = arm.model_copy(update={"parallel_tool_calls": False})
    with pytest.raises(InputError, match="takes no parallel_tool_calls"):
        require_capabilities(model("own_models:Caller"), strict)


async def test_fakes_of_langchain_core(ask: Ask) -> None:
    listed = model(f"{FAKES}:FakeListChatModel", kwargs={"responses": ["Answer: A", "", "Answer: B"]})
    assert (await ask(listed)).message.content == "Answer: A"
    with pytest.raises(ModelError) as caught:
        await ask(listed)
    assert (caught.value.code, caught.value.retryable) == ("empty_reply", True)
    assert (await ask(listed)).finish_reason == "stop"
    assert (await ask(model(f"{FAKES}:ParrotFakeChatModel", "parrot"))).message.content == "Hi"


async def test_a_trial_with_tools() -> None:
    source = connect(model("own_models:Caller"))
    played = await play_with(source.session(ABOUT, condition(), 0), LocalTools(double=double))
    await source.close()
    assert played.kinds == ["model_call", "tool_call", "model_call", "answer"]
    assert played.answer.text == "Answer: 42"


async def test_what_a_class_raises_is_a_failure_of_the_model(ask: Ask) -> None:
    with pytest.raises(ModelError) as caught:
        await ask(model("own_models:Broken"), tools=(DOUBLE,))
    assert (caught.value.code, caught.value.retryable) == ("client_error", False)
    assert "own_models:Broken failed: KeyError" in caught.value.message


def test_prices_are_those_of_the_providers_own_address() -> None:
    def priced(kind: str, name: str, **kwargs: Any) -> Any:
        return table_price(model(kind, name, kwargs=kwargs), datetime(2026, 1, 1, tzinfo=UTC))

    claude = ("langchain_anthropic:ChatAnthropic", "claude-sonnet-4-5")
    assert (priced(*claude).input, priced(*claude).cached_input, priced(*claude).cache_write) == (3, 0.3, 3.75)
    brief, long = ({"cache_control": {"type": "ephemeral", "ttl": ttl}} for ttl in ("5m", "1h"))
    assert priced(*claude, model_kwargs=brief) == priced(*claude)
    assert isinstance(priced(*claude, model_kwargs=long), Unpriced)
    assert isinstance(priced(*claude, base_url="http://localhost:1"), Unpriced)
    assert priced("langchain_google_genai:ChatGoogleGenerativeAI", "gemini-2.5-pro").output == 10
    assert isinstance(priced("langchain_openai:AzureChatOpenAI", "gpt-4o"), Unpriced)


def test_the_record() -> None:
    one = model("a.b:C", kwargs={"model_name": "x", "max_output_tokens": 7}, concurrency=4, package="a 1.0")
    assert (one.wire_name, one.max_tokens, one.endpoint) == ("x", 7, "a.b:C")
    assert model("a.b:C", kwargs={"max_token": 7, "cookie": None}).kwargs
    assert '"class":"a.b:C"' in one.to_json()
    assert LangChainModel.from_json(one.to_json()) == one
    other = one.model_copy(update={"package": "a 2.0", "concurrency": 8, "api_key_env": "K"})
    assert other.identity() == one.identity() != model("a.b:C").identity()
