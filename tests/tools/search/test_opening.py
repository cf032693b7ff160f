import subprocess
import sys

import pytest
from tests.tools.search.api_server import ApiServer, json_reply
from tests.tools.search.rest_services import KEY, SERVICES

from toolablate.tools.search import SearchQuery, open_provider, provider_identity, provider_names
from toolablate.traces.errors import InputError

NAMES = [service.name for service in SERVICES]
KEYED = {"brave": "BRAVE_API_KEY", "serper": "SERPER_API_KEY", "tavily": "TAVILY_API_KEY", "exa": "EXA_API_KEY"}
HERE = "http://localhost:8888"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in KEYED.values():
        monkeypatch.delenv(variable, raising=False)


def test_every_provider_is_known() -> None:
    assert set(provider_names()) == {"ddgs", *NAMES}


@pytest.mark.parametrize("name", provider_names())
def test_a_provider_is_known_by_name_and_parameters_without_its_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = HERE if name == "searxng" else ""
    region = "" if name == "tavily" else "de-de"
    identity = provider_identity(name, endpoint=endpoint, region=region, language="en")
    for variable in KEYED.values():
        monkeypatch.setenv(variable, KEY)
    opened = open_provider(name, endpoint=endpoint, region=region, language="en")
    assert identity == (opened.name, opened.parameters)
    assert KEY not in repr(opened) + repr(identity)


@pytest.mark.parametrize(("name", "variable"), KEYED.items())
def test_a_missing_key_is_named(name: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "  ")
    with pytest.raises(InputError, match=f"search\\.api_key_env.*{variable}") as refused:
        open_provider(name)
    assert refused.value.code == "missing_key"
    with pytest.raises(InputError, match=r"OTHER_KEY"):
        open_provider(name, api_key_env="OTHER_KEY")


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", 'quo"te', "back\\slash", "\x7f"])
def test_what_is_no_key_is_refused_and_not_shown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", key)
    with pytest.raises(InputError) as refused:
        open_provider("brave")
    assert (refused.value.code, key in str(refused.value)) == ("bad_key", False)


async def test_the_key_goes_to_the_endpoint_that_is_named(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    api.answer = json_reply({"results": []})
    opened = open_provider("tavily", endpoint=api.endpoint, api_key_env="MY_KEY")
    assert (await opened.search(SearchQuery("q"))).reply.status == "empty"
    assert api.asked[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("name", "settings", "message", "code"),
    [
        ("corpus", {}, "search.provider: there is no provider 'corpus'", "unknown_provider"),
        ("google", {}, "search.provider: there is no provider 'google'", "unknown_provider"),
        ("searxng", {}, "search.endpoint: missing", "no_endpoint"),
        ("brave", {"backend": "x"}, "search.backend: brave has no engines", "unknown_backend"),
        ("searxng", {"endpoint": HERE, "backend": "a,"}, "search.backend: 'a,'", "unknown_backend"),
        ("searxng", {"endpoint": HERE, "backend": "a&q=b"}, "search.backend: 'a&q=b'", "unknown_backend"),
        ("ddgs", {"backend": "a,b"}, "search.backend: ddgs has no text backend", "unknown_backend"),
        ("brave", {"region": "US-EN"}, "search.region: 'US-EN' is not a valid region", "bad_region"),
        ("ddgs", {"region": "us"}, "search.region: 'us' is not a valid region", "bad_region"),
        ("tavily", {"region": "us-en"}, "search.region: 'us-en' is not a valid region", "bad_region"),
        ("brave", {"language": "e n"}, "web.language: 'e n' is not a valid language", "bad_language"),
        ("brave", {"options": {"x": "y"}}, "search.options: brave has no option 'x'", "unknown_option"),
        ("brave", {"options": {"safesearch": "y"}}, "search.options.safesearch: 'y' is none of off", "bad_option"),
        ("serper", {"options": {"q": "y"}}, "search.options: serper has no option 'q'", "unknown_option"),
    ],
)
def test_what_is_wrong_is_named(name: str, settings: dict[str, object], message: str, code: str) -> None:
    with pytest.raises(InputError) as refused:
        open_provider(name, **settings)  # type: ignore[arg-type]
    assert (refused.value.code, refused.value.message.startswith(message)) == (code, True), refused.value


@pytest.mark.parametrize("name", ["searxng", "ddgs"])
def test_a_key_is_refused_where_none_is_taken(name: str) -> None:
    with pytest.raises(InputError, match=r"search\.api_key_env"):
        open_provider(name, endpoint=HERE, api_key_env="PATH")


@pytest.mark.parametrize("name", provider_names())
@pytest.mark.parametrize(
    "endpoint",
    [
        *("localhost:8888", "ftp://h/", "http://", "http://me:secret@h/", "http://h/?key=secret", "http://h/#secret"),
        *("http://h:0/", "http://h:99999/", "http://[::1/", "http://h/a b", "http://h/\n", "http://hö/", "http:\\\\h/"),
    ],
)
def test_an_endpoint_that_is_no_plain_address_is_refused_and_not_shown(name: str, endpoint: str) -> None:
    with pytest.raises(InputError, match=r"search\.endpoint") as refused:
        provider_identity(name, endpoint=endpoint)
    assert "secret" not in str(refused.value)


def test_naming_a_provider_loads_nothing_that_could_ask() -> None:
    code = (
        "import sys; from toolablate.tools.search import provider_identity, provider_names\n"
        "for name in provider_names(): provider_identity(name, endpoint='http://localhost:8888')\n"
        "print(sorted({'httpx2', 'ddgs', 'primp', 'httpx', 'lxml'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"
