"""Installs kernelspecs, so that Jupyter offers isolated kernels: `python -m toolablate.sandbox.kernelspecs install`.

`jupyter kernelspec list` shows them, `jupyter kernelspec remove` removes them.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolablate.sandbox.opening import BACKENDS

ISOLATING = tuple(name for name in BACKENDS if name != "none")
_MODULE = "toolablate.sandbox.kernelspecs"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.command == "refuse":
        return _refuse(options.name)
    prefix = None if options.user else options.prefix or sys.prefix
    try:
        config = dict(_setting(text) for text in options.set)
        for backend in options.backend or ISOLATING:
            folder = install(backend, user=options.user, prefix=prefix, config=config)
            sys.stdout.write(f"installed {name_of(backend)} in {folder}\n")
    except InstallationFailed as failure:
        sys.stderr.write(f"error: {failure}\n")
        return 1
    return 0


class InstallationFailed(Exception):
    """The kernelspec could not be installed; says why and what to do."""


def name_of(backend: str) -> str:
    return f"toolablate-{backend}"


def kernelspec(backend: str, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The content of a `kernel.json`. Raises `InstallationFailed` for a `config` that the provisioner would refuse."""
    from traitlets import TraitError

    from toolablate.sandbox.provisioning import BubblewrapProvisioner, DockerProvisioner, ForkserverProvisioner

    provisioners = {
        provisioner.backend: provisioner
        for provisioner in (BubblewrapProvisioner, DockerProvisioner, ForkserverProvisioner)
    }
    try:
        provisioners[backend](**(config or {}))
    except TraitError as error:
        raise InstallationFailed(str(error)) from error
    return {
        # A client that knows no provisioners would start this command, and must not get an open kernel of that name.
        "argv": [sys.executable, "-m", _MODULE, "refuse", name_of(backend), "{connection_file}"],
        "display_name": f"Python 3 (isolated: {backend})",
        "language": "python",
        "interrupt_mode": "signal",
        "metadata": {"kernel_provisioner": {"provisioner_name": name_of(backend), "config": dict(config or {})}},
    }


def install(
    backend: str, *, user: bool = False, prefix: str | None = None, config: Mapping[str, Any] | None = None
) -> str:
    """Installs for the user, into a prefix (`sys.prefix`: this environment), or for all; gives the folder. A kernelspec
    of this name is replaced. Raises `InstallationFailed`."""
    from jupyter_client.kernelspec import KernelSpecManager

    content = kernelspec(backend, config)
    with tempfile.TemporaryDirectory(prefix="toolablate-kernelspec-") as folder:
        (Path(folder) / "kernel.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        try:
            installed: str = KernelSpecManager().install_kernel_spec(
                folder, kernel_name=name_of(backend), user=user, prefix=prefix
            )
        except OSError as error:
            raise InstallationFailed(
                f"the kernelspec {name_of(backend)} could not be written: {error}\n"
                "  install it with --user, or with --prefix into a folder of yours"
            ) from error
    return installed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m {_MODULE}", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="install")
    command = commands.add_parser("install", help="install kernelspecs, replacing those of the same names")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for this user, whatever environment Jupyter runs in")
    where.add_argument("--prefix", help="under PREFIX/share/jupyter/kernels")
    where.add_argument("--sys-prefix", action="store_true", help="for the Jupyter of this environment (the default)")
    command.add_argument(
        "--backend", action="append", choices=ISOLATING, help="may be given several times (default: all)"
    )
    command.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a limit of the kernels: --set memory_mb=512"
    )
    refuse = commands.add_parser("refuse")
    refuse.add_argument("name")
    refuse.add_argument("connection_file")
    return parser


def _setting(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise InstallationFailed(f"--set takes KEY=VALUE, such as memory_mb=512, not {text!r}")
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _refuse(name: str) -> int:
    sys.stderr.write(
        f"error: {name} was started as a program, by a Jupyter client that knows no kernel provisioners, and would "
        "not be isolated\n  use a client that is built on jupyter_client >= 7 (JupyterLab, jupyter console, nbclient)\n"
    )
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
