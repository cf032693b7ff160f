"""Which machine is connected to, and how: addresses, rebinding, TLS, and machines without a network."""

import asyncio
import socket
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest
from tests.tools.web.roads import Roads
from tests.tools.web_server import WebServer, redirect, reply

from toolablate.tools.web import FetchError, LiveHttpClient, WebPolicy, follow

Opening = Callable[..., LiveHttpClient]
Failure = Callable[[Awaitable[object]], Awaitable[FetchError]]


async def test_nobody_listens(live: Opening, failure: Failure) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    policy = WebPolicy(allow=frozenset({f"127.0.0.1:{port}"}), robots=False)
    failed = await failure(follow(f"http://127.0.0.1:{port}/", live(policy), policy))
    assert (failed.code, failed.transient) == ("unreachable", True)


async def test_both_address_families(live: Opening) -> None:
    async with (
        WebServer(pages={"/": reply("6")}, address="::1").running() as six,
        WebServer(pages={"/": reply("4")}, port=six.port).running() as four,
    ):
        policy = opened(six.host, four.host, f"both.test:{six.port}")
        client = live(policy, resolve=Answers(["::1", "127.0.0.1"], ["127.0.0.1", "::1"]))
        assert (await follow(six.url("/"), client, policy)).body == b"6"
        assert six.requests[-1][1]["host"] == f"[::1]:{six.port}"
        assert (await follow(four.url("/"), client, policy)).body == b"4"
        found = [await follow(f"http://both.test:{six.port}/", client, policy) for _ in range(2)]
    assert [fetched.body for fetched in found] == [b"6", b"4"]
    assert [fetched.exchanges[0].address for fetched in found] == ["::1", "127.0.0.1"]


@pytest.mark.parametrize("address", ["::1", "127.0.0.1"])
async def test_an_address_where_nobody_listens_is_passed_over(live: Opening, address: str) -> None:
    async with WebServer(pages={"/": reply("x")}, address=address).running() as web:
        policy = opened(f"both.test:{web.port}")
        for order in (["::1", "127.0.0.1"], ["127.0.0.1", "::1"]):
            exchange = await live(policy, resolve=Answers(order)).get(f"http://both.test:{web.port}/")
            assert (exchange.address, exchange.body) == (address, b"x")


def opened(*hosts: str) -> WebPolicy:
    return WebPolicy(allow=frozenset(hosts), robots=False, delay_seconds=0.0, seconds=5.0)


class Answers:
    """A name server that gives one answer after the other, whatever the name."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.left = list(answers)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        return self.left.pop(0)


async def test_a_name_that_is_bound_anew_after_the_check_leads_nowhere_else(
    web: WebServer, roads: Roads, live: Opening, failure: Failure
) -> None:
    roads.server = web
    rebinding = Answers(["8.8.8.8"], ["127.0.0.1"])
    client = live(WebPolicy(ports=(web.port,), robots=False, delay_seconds=0.0), resolve=rebinding)
    url = f"http://rebinding.test:{web.port}/"
    assert (await client.get(url)).address == "8.8.8.8"
    assert (await failure(client.get(url))).code == "blocked"
    assert roads.wanted == [("8.8.8.8", web.port)]
    assert rebinding.left == []


async def test_a_redirect_to_a_name_that_is_private_is_not_followed(
    web: WebServer, policy: WebPolicy, live: Opening, failure: Failure
) -> None:
    web.pages["/"] = redirect(f"http://private.test:{web.port}/secret")
    open_port = replace(policy, ports=(web.port,))
    for answer in (["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::ffff:127.0.0.1"], ["64:ff9b::7f00:1"]):
        failed = await failure(follow(web.url("/"), live(open_port, resolve=Answers(answer)), open_port))
        assert (failed.code, failed.policy) == ("blocked", True)
    assert {path for path, _ in web.requests} == {"/"}


async def test_a_secure_connection_goes_to_the_address_and_is_verified_for_the_name(
    live: Opening, failure: Failure, certificate: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    names: list[str] = []
    served, trusting = certificate
    served.sni_callback = lambda _socket, name, _context: names.append(name)
    async with WebServer(pages={"/": reply("secret")}).running(served) as web:
        policy = opened(f"pages.test:{web.port}", f"other.test:{web.port}", web.host)
        loopback = Answers(*[["127.0.0.1"]] * 4)
        client = live(policy, resolve=loopback, tls=trusting)
        fetched = await follow(f"https://pages.test:{web.port}/", client, policy)
        await client.get(f"https://pages.test.:{web.port}/")
        for url in (f"https://other.test:{web.port}/", f"https://{web.host}/"):
            failed = await failure(client.get(url))
            assert (failed.code, failed.transient) == ("tls", False)
            assert "not valid for" in failed.message
        unknown = await failure(live(policy, resolve=loopback).get(f"https://pages.test:{web.port}/"))
    assert (unknown.code, len(web.requests)) == ("tls", 2)
    assert (fetched.url, fetched.body) == (f"https://pages.test:{web.port}/", b"secret")
    assert web.requests[0][1]["host"] == f"pages.test:{web.port}"
    assert names[:3] == ["pages.test", "pages.test", "other.test"]


async def test_servers_that_do_not_speak_tls(live: Opening, failure: Failure) -> None:
    async def refuse(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(status="400 Bad Request"))
        writer.close()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    for answer, code in ((refuse, "tls"), (say_nothing, "timeout")):
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            assert (await failure(live(replace(opened(host), seconds=0.5)).get(f"https://{host}/"))).code == code


NO_NETWORK = """
import asyncio, sys
from toolablate.tools.web import FetchError, LiveHttpClient, WebPolicy

async def codes():
    client = LiveHttpClient(WebPolicy(robots=False, delay_seconds=0.0))
    for url in ("http://8.8.8.8/", "http://page.example/"):
        try:
            await client.get(url)
        except FetchError as error:
            print(error.code, error.transient)
    await client.close()

asyncio.run(codes())
"""


def test_a_machine_without_a_network_is_told_apart_from_a_host_that_is_not_there() -> None:
    alone = ("unshare", "--user", "--map-root-user", "--net")
    if subprocess.run([*alone, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no network namespace can be made here")
    done = subprocess.run(
        [*alone, sys.executable, "-c", NO_NETWORK], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines() == ["no_network True"] * 2, done.stderr
