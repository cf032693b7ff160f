"""Ports for servers that are told theirs before they listen."""

import random
import socket

# Below those of outgoing connections, from 32768 on: one of these cannot take a port between its choice and its use. Above
# the 19999 of Ray's workers.
_TO_CHOOSE_FROM = range(20_000, 32_768)


def free_port() -> int:
    """One that nobody listens on, at random: tests beside each other take different ones."""
    while True:
        port = random.SystemRandom().choice(_TO_CHOOSE_FROM)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
