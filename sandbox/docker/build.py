"""Builds the kernel image: `python -m toolablate.sandbox.docker.build [--offline] [--base IMAGE] [--mirror URL]`.

With a registry within reach this is `docker build`. With `--offline` nothing is pulled: the base is a Debian made by
`debootstrap` (needs root, and a Debian mirror), and the packages are wheels that the `pip` of this environment
downloads first, from wherever it is set up to; inside the build there is no network at all.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

from toolablate.sandbox.docker import IMAGE

_DEBIAN = "bookworm"
_PYTHON_OF_DEBIAN = "3.11"
_OFFLINE_BASE = f"toolablate-kernel-base:{_DEBIAN}"
_MIRROR = "http://deb.debian.org/debian"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m toolablate.sandbox.docker.build", description=__doc__)
    parser.add_argument("--offline", action="store_true", help="make the base with debootstrap, pull nothing")
    parser.add_argument("--base", help="image to build on (default: the Dockerfile's, or the one made by --offline)")
    parser.add_argument("--mirror", default=_MIRROR, help="Debian mirror for --offline (default: %(default)s)")
    parser.add_argument("--tag", default=IMAGE, help="name of the image (default: %(default)s)")
    options = parser.parse_args(arguments)
    try:
        build(options.tag, base=options.base, offline=options.offline, mirror=options.mirror)
    except BuildFailed as failure:
        sys.stderr.write(f"error: {failure}\n")
        return 1
    sys.stdout.write(f"built {options.tag}\n")
    return 0


class BuildFailed(Exception):
    """The image could not be built; says why and what to do."""


def build(tag: str, *, base: str | None, offline: bool, mirror: str) -> None:
    """Builds the image in a temporary folder; raises `BuildFailed`."""
    _need("docker", "apt-get install docker.io, and start its daemon")
    with tempfile.TemporaryDirectory(prefix="toolablate-image-") as folder:
        context = Path(folder) / "context"
        with as_file(files("toolablate.sandbox.docker")) as source:
            context.mkdir()
            for name in ("Dockerfile", "requirements.txt"):
                shutil.copy(source / name, context / name)
        command = ["docker", "build", "--tag", tag]
        if offline:
            download_wheels(context)
            if base is None:
                base = _OFFLINE_BASE
                make_base(Path(folder) / "root", base, mirror)
            command += ["--network", "none"]
        if base:
            command += ["--build-arg", f"BASE={base}"]
        _run([*command, str(context)], "the image could not be built")


def download_wheels(context: Path) -> None:
    """Wheels for Debian's Python, whatever Python runs this."""
    machine = platform.machine()
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in (17, 24, 26, 27, 28, 31, 34, 35, 36)]
    platforms.append(f"manylinux2014_{machine}")
    abi = f"cp{_PYTHON_OF_DEBIAN.replace('.', '')}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--implementation=cp"]
    command += [f"--python-version={_PYTHON_OF_DEBIAN}", *(f"--abi={name}" for name in (abi, "abi3", "none"))]
    command += [f"--platform={name}" for name in platforms]
    command += ["--dest", str(context / "wheels"), "--requirement", str(context / "requirements.txt")]
    _run(command, "the wheels could not be downloaded")


def make_base(root: Path, name: str, mirror: str) -> None:
    """A minimal Debian with Python, imported as an image."""
    _need("debootstrap", "apt-get install debootstrap")
    if os.geteuid() != 0:
        raise BuildFailed("debootstrap needs root: run this with sudo, or give --base an image that has Python >= 3.11")
    command = ["debootstrap", "--variant=minbase", "--include=python3,python3-venv", _DEBIAN, str(root), mirror]
    _run(command, "debootstrap could not make a Debian", quiet=True)
    for waste in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"):
        shutil.rmtree(root / waste, ignore_errors=True)
    command = ["docker", "import", "-", name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as importing:
        assert importing.stdin is not None
        with importing.stdin as pipe, tarfile.open(fileobj=pipe, mode="w|") as archive:
            archive.add(root, arcname=".")
    if importing.returncode:
        raise BuildFailed("docker could not import the Debian that debootstrap made")


def _need(program: str, remedy: str) -> None:
    if shutil.which(program) is None:
        raise BuildFailed(f"{program} is not installed: {remedy}")


def _run(command: Sequence[str], failure: str, *, quiet: bool = False) -> None:
    result = subprocess.run(command, stdout=subprocess.PIPE if quiet else None, stderr=None, text=True, check=False)
    if result.returncode:
        sys.stderr.write((result.stdout or "")[-4_000:])
        raise BuildFailed(f"{failure}: `{' '.join(command[:3])} ...` ended with {result.returncode}")


if __name__ == "__main__":
    raise SystemExit(main())
