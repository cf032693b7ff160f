"""What a kernelspec, a manager or a user can set, and what is refused."""

import dataclasses
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import AsyncKernelManager, KernelManager
from jupyter_client.provisioning import KernelProvisionerFactory
from tests.sandbox.provisioning.clients import (
    ANSWER_SECONDS,
    any_isolating,
    connected,
    descendants,
    installed,
    left_behind,
    printed,
    started,
    until,
)
from traitlets import TraitError
from traitlets.config import Config

from toolablate.sandbox import Limits
from toolablate.sandbox.kernelspecs import ISOLATING, InstallationFailed, install, name_of
from toolablate.sandbox.provisioning import (
    BubblewrapProvisioner,
    DockerProvisioner,
    ForkserverProvisioner,
    ProvisioningError,
    SandboxProvisioner,
)

pytestmark = pytest.mark.deep


@any_isolating
def test_limits_of_the_kernelspec_hold(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    manager = started(backend, memory_mb=100, files=50, output_chars=1_000)
    try:
        client = connected(manager)
        assert printed(client, "x = bytearray(300_000_000)") == "MemoryError"
        assert len(printed(client, "print('x' * 5_000)")) in (1_000, 1_001)
        client.execute("for i in range(200): open(f'file{i}', 'w').close()\nimport time; time.sleep(10)")
        # What the file system itself counts is an error of the code, what the guardian counts is the end of the kernel.
        if backend == "bubblewrap":
            until(lambda: not manager.is_alive())
            assert "beyond its limit files = 50" in caplog.text
        else:
            assert client.get_shell_msg(timeout=ANSWER_SECONDS)["content"]["ename"] == "OSError"
        client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)


def test_session_key_that_a_user_chose_holds() -> None:
    manager = KernelManager(kernel_name=installed("bubblewrap"))
    manager.session.key = b"open sesame"
    manager.start_kernel()
    try:
        client = connected(manager)
        assert printed(client, "print(get_ipython().kernel.session.key.decode())") == "open sesame"
        client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)


def test_no_session_key_gets_one() -> None:
    manager = KernelManager(kernel_name=installed("bubblewrap"))
    manager.session.key = b""
    manager.start_kernel()
    try:
        assert len(manager.session.key) == 64
        connected(manager).stop_channels()
    finally:
        manager.shutdown_kernel(now=True)


def _require_encryption(manager: KernelManager) -> None:
    manager.kernel_spec.metadata["supported_encryption"] = "curve"
    manager.transport_encryption = "required"


def _give_curve_keys(manager: KernelManager) -> None:
    import zmq

    manager.curve_publickey, manager.curve_secretkey = zmq.curve_keypair()


def _give_key_of_bytes(manager: KernelManager) -> None:
    manager.session.key = b"\xff\xfe"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_require_encryption, "no encrypted transport"),
        (_give_curve_keys, "no encrypted transport"),
        (_give_key_of_bytes, "must be text"),
    ],
)
def test_refused_before_anything_is_started(change: Callable[[KernelManager], None], message: str, home: Path) -> None:
    manager = KernelManager(kernel_name=installed("bubblewrap"))
    change(manager)
    with pytest.raises(ProvisioningError, match=message):
        manager.start_kernel()
    assert not manager.has_kernel
    assert descendants(os.getpid()) == set()
    assert left_behind("bubblewrap", home) == []


def test_what_does_not_reach_the_kernel_is_told(caplog: pytest.LogCaptureFixture, monkeypatch: Any) -> None:
    monkeypatch.setenv("SECRET", "s3cret")
    manager = KernelManager(kernel_name=installed("bubblewrap", cell_seconds=5.0))
    manager.kernel_spec.env = {"MODE": "fast"}
    manager.start_kernel(extra_arguments=["--pylab=inline"], cwd="/root", env={"PATH": "/bin", "TOKEN": "t0ken"})
    try:
        client = connected(manager)
        seen = printed(client, "import os; print(os.getcwd(), sorted(os.environ))")
        assert not any(name in seen for name in ("MODE", "TOKEN", "SECRET", "/root"))
        client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)
    for told in (
        "options ['--pylab=inline'] do not reach",
        "variables MODE do not reach",
        "cell_seconds is of no effect",
    ):
        assert told in caplog.text


def test_missing_bubblewrap_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    manager = KernelManager(kernel_name=installed("bubblewrap"))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ProvisioningError, match=r"not installed\n  apt-get install bubblewrap"):
        manager.start_kernel()
    assert left_behind("bubblewrap", home) == []


@any_isolating
def test_temporary_folder_that_is_none(backend: str, monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    manager = KernelManager(kernel_name=installed(backend))
    monkeypatch.setattr(tempfile, "tempdir", str(home / "missing"))
    with pytest.raises(ProvisioningError, match="missing"):
        manager.start_kernel()
    assert not manager.has_kernel
    assert descendants(os.getpid()) == set()


@pytest.mark.parametrize("backend", ["bubblewrap", "forkserver"])
def test_python_without_ipykernel(backend: str, home: Path, caplog: pytest.LogCaptureFixture) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home / "venv")], check=True)
    manager = KernelManager(kernel_name=installed(backend, python=str(home / "venv" / "bin" / "python")))
    said = ""
    try:
        manager.start_kernel()
        until(lambda: not manager.is_alive())
        manager.shutdown_kernel(now=True)
    except ProvisioningError as error:  # where it is noticed before the kernel is forked
        said = str(error)
    assert "No module named" in said + caplog.text
    assert descendants(os.getpid()) == set()
    assert left_behind(backend, home) == []


def test_python_that_is_none() -> None:
    with pytest.raises(ProvisioningError, match="/bin/false"):
        KernelManager(kernel_name=installed("bubblewrap", python="/bin/false")).start_kernel()


def test_entry_points() -> None:
    entries = KernelProvisionerFactory.instance().get_provisioner_entries()
    assert {name for name in entries if name.startswith("toolablate")} == set(map(name_of, ISOLATING))


async def test_provisioner_tells_of_itself() -> None:
    manager = AsyncKernelManager(kernel_name=installed("bubblewrap"))
    await manager.start_kernel()
    try:
        assert manager.provisioner is not None
        told = await manager.provisioner.get_provisioner_info()
        assert told["backend"] == "bubblewrap"
        assert told["connection_info"]["ip"] == manager.ip
        with socket.socket(socket.AF_UNIX) as shell:
            shell.connect(f"{manager.ip}-{manager.shell_port}")
        assert manager.resolve_path("/etc/passwd") is None
    finally:
        await manager.shutdown_kernel(now=True)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"memory": 512}, "no key 'memory': did you mean 'memory_mb'\\?"),
        ({"colour": "red"}, "no key 'colour': The keys are: cell_seconds, "),
        ({"memory_mb": "512"}, "memory_mb must be a whole number above 0"),
        ({"memory_mb": True}, "memory_mb must be a whole number above 0"),
        ({"files": 1.5}, "files must be a whole number above 0"),
        ({"processes": 0}, "processes must be a whole number above 0"),
        ({"disk_mb": -1}, "disk_mb must be"),
        ({"cpu_seconds": None}, "cpu_seconds must be"),
        ({"start_seconds": float("nan")}, "start_seconds must be a number above 0"),
        ({"start_seconds": float("inf")}, "start_seconds must be a number above 0"),
        ({"memory_mb": 10**30}, "memory_mb must be .* at most"),
        ({"python": 3}, "python"),
    ],
)
def test_wrong_configuration_is_refused(config: dict[str, Any], message: str) -> None:
    """When the kernelspec is installed, and, where somebody edited it, when a kernel shall start."""
    with pytest.raises(InstallationFailed, match=message):
        install("bubblewrap", user=True, config=config)
    manager = KernelManager(kernel_name=installed("bubblewrap"))
    manager.kernel_spec.metadata["kernel_provisioner"]["config"] = config
    with pytest.raises(TraitError, match=message):
        manager.start_kernel()


def test_docker_brings_its_own_python() -> None:
    with pytest.raises(InstallationFailed, match="no key 'python'"):
        install("docker", user=True, config={"python": "/usr/bin/python3"})


@pytest.mark.parametrize("provisioner", [BubblewrapProvisioner, DockerProvisioner, ForkserverProvisioner])
def test_every_limit_is_a_key(provisioner: type[SandboxProvisioner]) -> None:
    traits = provisioner.class_traits(config=True)
    limits = {field.name: field.default for field in dataclasses.fields(Limits)}
    assert set(limits) == set(traits) - {"python"}
    assert all(traits[name].help for name in traits)
    differing = {name for name in limits if traits[name].default_value != limits[name]}
    assert differing == {"output_chars"}  # a person reads more than a model


def test_jupyter_configuration_sets_limits() -> None:
    settings = Config({"BubblewrapProvisioner": {"memory_mb": 100}})
    manager = KernelManager(kernel_name=installed("bubblewrap"), config=settings)
    manager.start_kernel()
    try:
        client = connected(manager)
        assert printed(client, "x = bytearray(300_000_000)") == "MemoryError"
        client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)
