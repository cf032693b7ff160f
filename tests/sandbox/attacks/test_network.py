"""Cells that look for a way out by the network, while the host listens."""

import errno
import platform
import socket

import pytest

from toolablate.sandbox import Kernel

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
async def test_loopback_of_the_host_is_another(
    jail: Kernel, family: socket.AddressFamily, kind: socket.SocketKind
) -> None:
    host = "127.0.0.1" if family == socket.AF_INET else "::1"
    with socket.socket(family, kind) as server:
        server.bind((host, 0))
        if kind == socket.SOCK_STREAM:
            server.listen()
        code = f"""
import socket
with socket.socket({int(family)}, {int(kind)}) as client:
    client.settimeout(3)
    try: client.connect({server.getsockname()[:2]!r}); client.send(b"hello")
    except OSError: pass
"""
        assert (await jail.execute(code)).status == "ok"
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept() if kind == socket.SOCK_STREAM else server.recv(9)


async def test_no_address_is_reached(jail: Kernel) -> None:
    addresses = [("169.254.169.254", 80), ("1.1.1.1", 53), ("8.8.8.8", 443), ("10.0.0.1", 80), ("172.17.0.1", 2375)]
    code = f"""
import socket
for address in {addresses}:
    try: socket.create_connection(address, timeout=3); print("CONNECTED", address)
    except OSError: pass
    try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", address); print("SENT", address)
    except OSError: pass
for address in (("fd00:ec2::254", 80), ("ff02::1", 9), ("fe80::1", 9)):
    try: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"x", address); print("SENT", address)
    except OSError: pass
try: print("RESOLVED", socket.getaddrinfo("example.com", 80))
except OSError: pass
print([name for _, name in socket.if_nameindex() if name not in ("lo", "tunl0", "sit0", "ip6tnl0", "gre0", "ip_vti0",
      "gretap0", "erspan0", "ip6_vti0", "ip6gre0")])
"""
    assert (await jail.execute(code)).text == "[]\n"


async def test_abstract_socket_of_the_host_is_another(jail: Kernel) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0toolablate-test-abstract")
        server.listen()
        code = "import socket; socket.socket(socket.AF_UNIX).connect('\\0toolablate-test-abstract')"
        assert (await jail.execute(code)).error == "ConnectionRefusedError"


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        ("40, socket.SOCK_STREAM", errno.EAFNOSUPPORT),  # AF_VSOCK
        ("40, socket.SOCK_DGRAM", errno.EAFNOSUPPORT),
        ("socket.AF_PACKET, socket.SOCK_RAW", errno.EAFNOSUPPORT),
        ("socket.AF_PACKET, socket.SOCK_DGRAM", errno.EAFNOSUPPORT),
        ("38, socket.SOCK_SEQPACKET", errno.EAFNOSUPPORT),  # AF_ALG
        ("31, socket.SOCK_RAW", errno.EAFNOSUPPORT),  # AF_BLUETOOTH
        ("44, socket.SOCK_RAW", errno.EAFNOSUPPORT),  # AF_XDP
        ("30, socket.SOCK_SEQPACKET", errno.EAFNOSUPPORT),  # AF_TIPC
        ("21, socket.SOCK_SEQPACKET", errno.EAFNOSUPPORT),  # AF_RDS
        ("socket.AF_INET, socket.SOCK_RAW, 1", errno.EPERM),
        ("socket.AF_INET6, socket.SOCK_RAW, 58", errno.EPERM),
        ("socket.AF_INET, socket.SOCK_SEQPACKET", errno.EPERM),
        ("socket.AF_INET, socket.SOCK_STREAM, 132", errno.EPROTONOSUPPORT),  # SCTP
        ("socket.AF_INET, socket.SOCK_STREAM, 262", errno.EPROTONOSUPPORT),  # MPTCP
        ("socket.AF_INET, socket.SOCK_DGRAM, 1", errno.EPROTONOSUPPORT),  # ICMP
        ("socket.AF_NETLINK, socket.SOCK_RAW, 15", errno.EPROTONOSUPPORT),  # uevents
        ("socket.AF_NETLINK, socket.SOCK_RAW, 12", errno.EPROTONOSUPPORT),  # netfilter
    ],
)
async def test_socket_that_reaches_outside_is_refused(jail: Kernel, arguments: str, refused: int) -> None:
    code = f"import socket\ntry: socket.socket({arguments}); print('OPEN')\nexcept OSError as e: print(e.errno)"
    assert (await jail.execute(code)).text == f"{refused}\n"


@pytest.mark.parametrize(
    ("level", "option"),
    [(1, 60), (1, 26), (1, 50), (1, 7), (1, 8), (1, 33), (6, 31), (1, 25)],
    ids=["ZEROCOPY", "ATTACH_FILTER", "ATTACH_BPF", "SNDBUF", "RCVBUF", "RCVBUFFORCE", "TCP_ULP", "BINDTODEVICE"],
)
async def test_option_that_reaches_further_is_refused(jail: Kernel, level: int, option: int) -> None:
    code = f"import socket\nsocket.socket().setsockopt({level}, {option}, b'tls' if {level} == 6 else b'eth0' if {option} == 25 else b'\\1\\0\\0\\0')"
    assert (await jail.execute(code)).error in ("PermissionError", "OSError")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="these entry points are of x86-64")
async def test_no_other_entry_point_opens_sockets(jail: Kernel) -> None:
    code = """
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(0x40000000 + 41, 40, 1, 0), libc.syscall(41, ctypes.c_ulong(0x1_0000_0028), 1, 0))
# mov eax, 359 (socket); mov ebx, 40; mov ecx, 1; xor edx, edx; int 0x80, between push and pop rbx
machine = bytes.fromhex("53 b867010000 bb28000000 b901000000 31d2 cd80 5b c3")
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(machine)
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())
"""
    first, second = (await jail.execute(code)).text.splitlines()
    assert first == "-1 -1"
    assert int(second) == -errno.ENOSYS


async def test_sockets_within_the_sandbox_work(jail: Kernel) -> None:
    code = """
import os, socket
for family, address in ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_UNIX, "inner")):
    server = socket.socket(family); server.bind(address); server.listen()
    client = socket.socket(family); client.connect(server.getsockname())
    client.send(b"ok"); print(server.accept()[0].recv(9))
os.unlink("inner")
one, other = socket.socketpair()
one.send(b"ok"); print(other.recv(9))
"""
    assert (await jail.execute(code)).text == "b'ok'\n" * 3


async def test_no_socket_of_the_kernel_reaches_another_endpoint(jail: Kernel) -> None:
    """Its own listening sockets lie in a folder of the host: by their names nothing can be reached."""
    code = """
import os, socket
for line in open("/proc/net/unix"):
    name = line.split()[-1]
    if name.startswith("/"):
        try: socket.socket(socket.AF_UNIX).connect(name); print("CONNECTED", name)
        except OSError: pass
"""
    assert (await jail.execute(code)).text == ""
