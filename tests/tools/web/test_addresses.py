"""Which addresses may be connected to."""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence

import pytest

from toolablate.tools.web import FetchError, WebPolicy, is_public, normal_url
from toolablate.tools.web.policy import CONTROL_NAME, SystemResolver, check_url, checked_addresses

Failure = Callable[[Awaitable[object]], Awaitable[FetchError]]

PUBLIC = """
8.8.8.8 1.1.1.1 100.63.255.255 100.128.0.1 172.15.255.255 172.32.0.1 192.0.1.1 198.17.255.255 198.20.0.1 223.255.255.255
2606:4700::1111 2001:4860:4860::8888 2a00:1450:4001::1 64:ff9b::808:808 ::ffff:8.8.8.8 2003::1 2000::1
"""

NOT_PUBLIC = """
0.0.0.0 0.1.2.3 10.1.2.3 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.255 169.254.169.254 172.16.0.1 172.31.255.255
192.0.0.0 192.0.0.9 192.0.0.170 192.0.0.255 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.1.1 192.175.48.1
198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:100.64.0.1 ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8
64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b::a00:1 64:ff9b::c000:1 64:ff9b:1::808:808 64:ff9b:1::7f00:1
64:ff9b:1:ffff:ffff:ffff:808:808
100::1 100:0:0:1::1 1fff::1 2001::1 2001:0:4136:e378:8000:63bf:f7f7:f7f7 2001:2::1 2001:10::1 2001:20::1 2001:db8::1
2001:1ff::1 2002:7f00:1:: 2002:a00:1::1 2002:808:808:: 2620:4f:8000::1 3fff::1 5f00::1 4000::1 8000::1
fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 feff::1 ff02::1 ff05::2 ff0e::1 2606:4700::1111%eth0
2606:4700::1111%1 ::ffff:8.8.8.8%1 localhost 8.8.8 8.8.8.8.8 08.8.8.8 0x7f.0.0.1 2130706433 -1 [::1] 8.8.8.8/32
"""


@pytest.mark.parametrize("address", PUBLIC.split())
def test_public_addresses(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", [*NOT_PUBLIC.split(), "", " 8.8.8.8", "8.8.8.8\n"])
def test_addresses_that_are_not_of_the_open_internet(address: str) -> None:
    assert not is_public(address)


PRIVATE_URLS = """
http://8.8.8.8:22/ http://8.8.8.8:0/ https://8.8.8.8:25/ http://127.0.0.1/ http://127.1/ http://0x7f.1/
http://0X7F.0x0.0.0x1/ http://2130706433/ http://017700000001/ http://0177.1/ http://0/ http://127.0.0.1./
http://①②⑦.0.0.1/ http://127。0。0。1/ http://%31%32%37.0.0.1/ http://0xa9fea9fe/latest/meta-data/
http://169.254.169.254/latest/meta-data/ http://[::1]/ http://[0:0:0:0:0:0:0:1]/ http://[::ffff:127.0.0.1]/
http://[::ffff:7f00:1]/ http://[::127.0.0.1]/ http://[64:ff9b::7f00:1]/ http://[64:ff9b:1::1]/ https://[fec0::1]/
http://[fe80::1]/ http://[2002:7f00:1::]/ http://[ff02::1]/ http://100.64.0.1/ http://192.0.0.1/ http://224.0.0.1/
http://me@127.0.0.1/ http://8.8.8.8:80@127.0.0.1/
"""


@pytest.mark.parametrize("url", PRIVATE_URLS.split())
def test_a_url_that_names_a_private_address_is_refused_in_any_spelling(url: str) -> None:
    with pytest.raises(FetchError) as refused:
        check_url(normal_url(url), WebPolicy())
    assert (refused.value.code, refused.value.policy) == ("blocked", True)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://8.8.8.8/", "8.8.8.8"),
        ("HTTPS://0x8.0x08.010.8:8443/a b?ü#c", "8.8.8.8"),
        ("http://8.8.8.8#@127.0.0.1/", "8.8.8.8"),
        ("http://8.8.8.8\\@127.0.0.1/", "8.8.8.8"),
        ("http://[2606:4700:0:0::1111]:80/", "2606:4700::1111"),
    ],
)
async def test_a_url_that_passes_is_connected_to_the_address_that_was_checked(url: str, address: str) -> None:
    target = check_url(normal_url(url), WebPolicy())
    assert await checked_addresses(url, target, WebPolicy(), Answers()) == (address,)


class Answers:
    """A name server that gives one list of answers after the other."""

    def __init__(self, *answers: Sequence[str] | OSError) -> None:
        self.left = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answer = self.left.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer


AGAIN = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
UNKNOWN = socket.gaierror(socket.EAI_NONAME, "Name or service not known")


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ((["8.8.8.8", "10.0.0.1"],), "blocked"),
        ((["2606:4700::1111", "::1"],), "blocked"),
        ((["fe80::1%lo"],), "blocked"),
        ((["not an address"],), "blocked"),
        (([],), "no_host"),
        ((UNKNOWN,), "no_host"),
        ((AGAIN, ["8.8.8.8"]), "no_host"),
        ((AGAIN, UNKNOWN), "no_host"),
        ((AGAIN, AGAIN), "no_network"),
    ],
)
async def test_what_a_name_server_answers(
    answers: Sequence[Sequence[str] | OSError], code: str, failure: Failure
) -> None:
    url = "http://page.example/"
    resolve = Answers(*answers)
    failed = await failure(checked_addresses(url, check_url(url, WebPolicy()), WebPolicy(), resolve))
    assert (failed.code, failed.policy, failed.transient) == (code, code == "blocked", answers[0] is AGAIN)
    assert resolve.asked == ["page.example", CONTROL_NAME][: len(answers)]


async def test_every_host_is_looked_up_once_and_all_its_addresses_are_given() -> None:
    url, answer = "http://page.example/", ("8.8.8.8", "2606:4700::1111")
    resolve = Answers(answer)
    assert await checked_addresses(url, check_url(url, WebPolicy()), WebPolicy(), resolve) == answer
    assert resolve.asked == ["page.example"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "0x7f.1"])
async def test_the_system_finds_this_machine(host: str) -> None:
    system = SystemResolver()
    try:
        assert not any(is_public(address) for address in await system(host, 80))
    finally:
        system.close()


@pytest.mark.parametrize("host", [".", "a..b", ".example", "x" * 70 + ".example", "a" * 300])
async def test_names_that_no_system_can_look_up_are_not_found(host: str, failure: Failure) -> None:
    url = f"http://{host}/"
    system = SystemResolver()
    try:
        assert (await failure(checked_addresses(url, check_url(url, WebPolicy()), WebPolicy(), system))).code in (
            "no_host",
            "no_network",
        )
    finally:
        system.close()


def test_the_allow_list_is_for_one_host_and_port() -> None:
    policy = WebPolicy(allow=frozenset({"127.0.0.1:9999", "[0:0::1]:9999", "Intra.example:81"}))
    for url in ("http://127.0.0.1:9999/", "https://127.0.0.1:9999/", "http://[::1]:9999/", "http://intra.example.:81/"):
        assert policy.allows(check_url(url, policy))
    for url in ("http://127.0.0.1/", "http://127.0.0.2:9999/", "http://[::1]:9998/", "http://intra.example:82/"):
        with pytest.raises(FetchError):
            check_url(url, policy)
    assert not policy.allows(check_url("http://localhost/", policy))


async def test_a_name_on_the_allow_list_may_be_private() -> None:
    policy = WebPolicy(allow=frozenset({"intra.example:80"}))
    url = "http://intra.example/"
    assert await checked_addresses(url, check_url(url, policy), policy, Answers(["10.0.0.1"])) == ("10.0.0.1",)


@pytest.mark.parametrize(
    "url",
    [
        "http://leaks.example/",
        "https://www.Leaks.example:8443/a",
        "http://leaks.example./",
        "https://bücher.example/",
        "https://xn--bcher-kva.example/",
        "https://hub.example/datasets",
        "https://a.hub.example/datasets/x?y",
        "https://hub.example//%64atasets/",
        "https://hub.example/DataSets/x",
        "https://hub.example/a/../datasets/",
        "http://8.8.4.4/",
    ],
)
def test_blocked_hosts(url: str) -> None:
    blocked = frozenset({"leaks.example", "bücher.example", "hub.example/datasets/", "8.8.4.4"})
    with pytest.raises(FetchError) as refused:
        check_url(normal_url(url), WebPolicy(blocked_hosts=blocked, allow=frozenset({"leaks.example:80"})))
    assert (refused.value.code, refused.value.policy) == ("blocked_host", True)


@pytest.mark.parametrize(
    "url", ["http://noleaks.example/", "http://leaks.example.org/", "https://hub.example/datasetsx", "http://8.8.8.8/"]
)
def test_hosts_that_are_not_blocked(url: str) -> None:
    check_url(url, WebPolicy(blocked_hosts=frozenset({"leaks.example", "hub.example/datasets", "8.8.4.4"})))


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ({"allow": frozenset({"localhost"})}, "allow: 'localhost'"),
        ({"allow": frozenset({"::1:80"})}, "allow: '::1:80'"),
        ({"allow": frozenset({"a:99999"})}, "allow: 'a:99999'"),
        ({"allow": frozenset({"me@a:80"})}, "allow: 'me@a:80'"),
        ({"allow": frozenset({"http://a:80"})}, "allow: 'http://a:80'"),
        ({"blocked_hosts": frozenset({"http://a/"})}, "blocked_hosts: 'http://a/'"),
        ({"blocked_hosts": frozenset({""})}, "blocked_hosts: ''"),
        ({"language": "en\r\nX: y"}, "language: "),
    ],
)
def test_a_policy_that_cannot_be_read_is_refused_by_its_key(setting: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match="^" + named.replace("[", "\\[")):
        WebPolicy(**setting)  # type: ignore[arg-type]


HANGING = """
import asyncio, socket, time
from toolablate.tools.web import FetchError, LiveHttpClient, WebPolicy

asked = []

def hanging(host, *rest, **named):
    asked.append(host)
    time.sleep(1000)

async def main():
    socket.getaddrinfo = hanging
    client = LiveHttpClient(WebPolicy(seconds=0.2, robots=False))
    try:
        await client.get("http://page.example/")
    except FetchError as error:
        print(error.code, asked)
    await client.close()

asyncio.run(main())
"""


def test_a_look_up_that_hangs_does_not_hold_up_the_end_of_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", HANGING], check=False, capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr, done.returncode) == ("timeout [b'page.example']\n", "", 0)


async def test_look_ups_that_nobody_waits_for_keep_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pages give up, no more threads ask at once."""
    end = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [] if end.wait(100) else None)
    system = SystemResolver()
    asking = [asyncio.create_task(system(f"{n}.example", 80)) for n in range(100)]
    while threads() < 32:  # noqa: ASYNC110 - a thread that starts cannot wake us
        await asyncio.sleep(0.01)
    for task in asking[:50]:
        task.cancel()
    await asyncio.sleep(0.2)
    assert threads() == 32
    end.set()
    assert await asyncio.gather(*asking[50:]) == [()] * 50


def threads() -> int:
    return sum(thread.name == "resolve" for thread in threading.enumerate())
