"""The image of the docker backend: what is in it, what it is called."""

from importlib.metadata import version

IMAGE = f"toolablate-kernel:{version('toolablate')}"
PYTHON = "/opt/kernel/bin/python"
BUILD_COMMAND = "python -m toolablate.sandbox.docker.build"

__all__ = ["BUILD_COMMAND", "IMAGE", "PYTHON"]
