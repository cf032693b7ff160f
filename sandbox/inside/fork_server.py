"""Where forked kernels come from: `python -P -m inside.fork_server fd:N`.

Over the socket N the host sends one message per kernel, with the descriptor of that kernel's control socket. This
process is small, so that the guardians which it forks are; the kernels themselves are forked by the zygote, its child.
Neither reads anything that differs between kernels: the forked guardian reads its request itself.
"""

import os
import resource
import select
import signal
import socket
import sys
import traceback

from . import system
from .control import introduce, join, receive, receive_request, send
from .guardian import ERROR_BYTES, guard
from .isolation import isolate, open_namespaces
from .zygote import ask_for_kernel, breed


def main(descriptor: int) -> None:
    server = socket.socket(fileno=descriptor)
    sys.path.remove(os.environ.pop("PYTHONPATH"))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # one for each live kernel
    zygote = _start_zygote(server)
    own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    send(server, {"ready": True})
    poll = select.poll()
    for source in (server, zygote):
        poll.register(source, select.POLLIN)
    while all(source == server.fileno() for source, _ in poll.poll()):
        message, descriptors = receive(server)
        if not message:
            return
        if not descriptors:  # there was none free for it; whoever waits for an answer sees the end
            continue
        with socket.socket(fileno=descriptors[0]) as control:
            try:
                system.unshare(system.NEW_PIDS)
                if os.fork() == 0:
                    server.close()
                    os.close(own_pids)
                    _guard(control, zygote)
            except OSError as error:  # too many processes, or namespaces
                send(control, {"code": 1, "over": "", "error": str(error)})
            finally:
                system.enter(own_pids, system.NEW_PIDS)
    sys.exit("the process that forks kernels has ended")


def _start_zygote(server: socket.socket) -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        server.close()
        ours.close()
        breed(theirs)
    theirs.close()
    ready, _ = receive(ours)
    if not ready:
        os._exit(1)  # it has said why
    return ours


def _guard(control: socket.socket, zygote: socket.socket) -> None:
    try:
        given = receive_request(control)
        introduce(control)
        os.setsid()  # Linux shares the processor out by session (sched(7), autogroup): this one is no other guardian's
        join(given.groups)
        isolate(given.request["limits"], given.request["shown"])
        guard(control, given, ask_for_kernel(zygote, given, open_namespaces()))
    except BaseException:  # noqa: BLE001 - the host is told
        send(control, {"code": 1, "over": "", "error": traceback.format_exc()[-ERROR_BYTES:]})
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1].removeprefix("fd:")))
