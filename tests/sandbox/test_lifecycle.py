"""Nothing is left behind: after closing, after a cancelled start, and after the host was killed."""

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.sandbox.environments import environment_in

from toolablate.sandbox import Kernel, KernelUnavailable, Sandbox, open_sandbox
from toolablate.sandbox.python import Python, find_python

pytestmark = pytest.mark.deep

in_one_loop = pytest.mark.asyncio(loop_scope="module")
Start = Callable[[Sandbox], Awaitable[Kernel]]
OpenKernel = Callable[..., Awaitable[Kernel]]

BASE = os.path.realpath(sys.executable)
HOST = """
import asyncio, sys
from toolablate.sandbox import open_sandbox
async def main():
    kernel = await open_sandbox(sys.argv[1]).start()
    await kernel.execute("import subprocess; child = subprocess.Popen(['sleep', '1000'], start_new_session=True)")
    result = await kernel.execute("import os; print(os.getuid(), 6 * 7)")
    print(result.text.strip(), flush=True)
    if len(sys.argv) > 2:
        return await kernel.close()
    await asyncio.sleep(1000)
asyncio.run(main())
"""


def descendants(pid: int) -> set[int]:
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):  # it may end while it is looked at
            for child in map(int, (task / "children").read_text().split()):
                found |= {child} | descendants(child)
    return found


def traces() -> tuple[set[int], list[str]]:
    """Our processes and our open files."""
    files = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            files.append(str(descriptor.readlink()).split(":")[0])
    return descendants(os.getpid()), sorted(files)


@pytest.fixture
def folder() -> Iterator[Path]:
    """With a short name: unix sockets allow 107 characters, and `tmp_path` takes most of them."""
    with tempfile.TemporaryDirectory(prefix="t-") as name:
        yield Path(name)


def entries(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def alive(processes: set[int]) -> bool:
    return any(Path(f"/proc/{pid}").exists() for pid in processes)


def containers(host: int = 0) -> set[str]:
    """Of that host process, by default of ours."""
    import docker

    client = docker.from_env()
    try:
        return {
            container.id or ""
            for container in client.containers.list(
                all=True, filters={"label": f"toolablate.kernel={host or os.getpid()}"}
            )
        }
    finally:
        client.close()


@in_one_loop
async def test_closing_leaves_nothing(
    sandbox: Sandbox, start: Start, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    await (await start(sandbox)).close()
    await sandbox.close()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = traces()
    kernels = [await start(sandbox) for _ in range(3)]
    await kernels[0].execute("import subprocess; p = subprocess.Popen(['sleep', '1000'], start_new_session=True)")
    await kernels[1].execute("import os; os._exit(1)")
    await kernels[2].close()
    await sandbox.close()
    assert traces() == before
    assert not entries(folder)
    if sandbox.name == "docker":
        assert not containers()


@in_one_loop
async def test_cancelled_start_leaves_nothing(sandbox: Sandbox, start: Start) -> None:
    await (await start(sandbox)).close()
    before = traces()
    for moment in (0.0, 0.001, 0.01, 0.05, 0.15):
        starting = asyncio.ensure_future(sandbox.start())
        await asyncio.sleep(moment)
        if not starting.cancel():
            await (await starting).close()
            continue
        with pytest.raises(asyncio.CancelledError):
            await starting
    await sandbox.close()
    assert traces()[0] <= before[0]
    if sandbox.name == "docker":
        assert not containers()


@in_one_loop
async def test_cancelled_cell_takes_its_kernel_with_it(with_limits: OpenKernel) -> None:
    kernel = await with_limits()
    running = asyncio.ensure_future(kernel.execute("x = 1\nimport time; time.sleep(100)"))
    await asyncio.sleep(0.2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await kernel.execute("x")).error == "NameError"


@in_one_loop
async def test_kernels_end_with_a_killed_host(any_backend: str, with_limits: OpenKernel, folder: Path) -> None:
    await (await with_limits()).close()
    command = [sys.executable, "-c", HOST, any_backend]
    environment = {**os.environ, "TMPDIR": str(folder)}
    host = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=environment)
    assert host.stdout is not None
    assert (await host.stdout.readline()).split()[1:] == [b"42"]
    left = descendants(host.pid)
    assert left or any_backend == "docker"
    host.kill()
    await host.wait()
    while (  # noqa: ASYNC110 - nobody could tell us
        alive(left) or entries(folder) or (any_backend == "docker" and containers(host.pid))
    ):
        await asyncio.sleep(0.05)  # the test's own time limit ends this


@in_one_loop
async def test_closed_kernel_is_not_revived(with_limits: OpenKernel) -> None:
    kernel = await with_limits()
    await kernel.close()
    await kernel.close()
    with pytest.raises(RuntimeError, match="closed"):
        await kernel.execute("1")


@in_one_loop
async def test_kernels_run_at_the_same_time(with_limits: OpenKernel) -> None:
    kernels = [await with_limits() for _ in range(3)]
    results = await asyncio.gather(*(kernel.execute(f"{n} * 10") for n, kernel in enumerate(kernels)))
    assert [result.text for result in results] == ["0\n", "10\n", "20\n"]


@pytest.mark.parametrize("backend", ["forkserver", "bubblewrap"])
def test_works_as_an_ordinary_user(backend: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("we are an ordinary user already: the other tests show it")
    home = Path.home()
    shown = [folder for folder in find_python(None).folders if Path(folder).is_relative_to(home)]
    mounts = "".join(f"mkdir -p kept{n}; mount --bind {folder} kept{n}\n" for n, folder in enumerate(shown))
    mounts += f"mount -t tmpfs -o mode=755 tmpfs {home}\n" if shown else ""
    mounts += "".join(f"mkdir -p {folder}; mount --bind kept{n} {folder}\n" for n, folder in enumerate(shown))
    script = mounts + 'exec setpriv --reuid 12345 --regid 12345 --clear-groups env HOME=/ "$@"'
    with tempfile.TemporaryDirectory() as folder:
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh"]
        command += [sys.executable, "-c", HOST, backend, "close"]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert ran.stdout == "1000 42\n", ran.stderr


@pytest.mark.parametrize("backend", ["forkserver", "bubblewrap", "none"])
def test_works_with_an_interpreter_named_by_a_relative_path(backend: str, tmp_path: Path) -> None:
    python, folder = os.path.relpath(sys.executable, tmp_path), os.path.relpath(tempfile.gettempdir(), tmp_path)
    environment = {**os.environ, "TMPDIR": folder, "HOME": "home"}
    command = [python, "-c", HOST, backend, "close"]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout.endswith(" 42\n"), ran.stderr


@in_one_loop
@pytest.mark.parametrize("target", [BASE, f"../system{BASE}"], ids=["absolute", "relative"])
async def test_interpreter_is_found_by_links_outside_of_its_folders(target: str, tmp_path: Path) -> None:
    links, bin_folder = tmp_path / "links", tmp_path / "environment" / "bin"
    for folder in (links, bin_folder):
        folder.mkdir(parents=True)
    (tmp_path / "system").symlink_to("/")
    (links / "python3").symlink_to(target)
    (bin_folder / "python").symlink_to("../../links/python3")
    (bin_folder.parent / "pyvenv.cfg").write_text(f"home = {links}\n", encoding="utf-8")
    sandbox = open_sandbox("bubblewrap", python=str(bin_folder / "python"))
    assert "No module named 'ipykernel'" in (await sandbox.check()).detail  # which it looked for
    await sandbox.close()


@in_one_loop
async def test_interpreter_that_needs_what_kernels_do_not_see_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = open_sandbox("bubblewrap")
    monkeypatch.setattr("toolablate.sandbox.python.find_python", lambda _: Python("/nowhere/python", ()))
    availability = await sandbox.check()
    assert "execvp /nowhere/python" in availability.detail
    assert "-m venv" in availability.remedy
    await sandbox.close()


# --- what is missing is named -----------------------------------------------------------------------------------------


@in_one_loop
async def test_unknown_backend_names_the_known_ones() -> None:
    with pytest.raises(KernelUnavailable, match="podman") as caught:
        open_sandbox("podman")
    assert "forkserver, bubblewrap, docker, none" in caught.value.hint


@in_one_loop
@pytest.mark.parametrize("python", ["/nowhere/python", "/bin/true", "/etc/passwd"])
async def test_bad_python_is_named(python: str) -> None:
    sandbox = open_sandbox("bubblewrap", python=python)
    with pytest.raises(KernelUnavailable, match=python):
        await sandbox.start()
    await sandbox.close()


@pytest.fixture(scope="module")
def python_with_an_index() -> Iterator[str]:
    """An environment of its own, with the password of a package index: in ours the file would come and go while other
    tests start kernels."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        python = environment_in(Path(folder, "env"))
        Path(folder, "env", "uv.toml").write_text('index-url = "https://me:hunter2@index.example/"', encoding="utf-8")
        yield python


@in_one_loop
@pytest.mark.parametrize("backend", ["forkserver", "bubblewrap"])
async def test_password_of_a_package_index_is_hidden(backend: str, python_with_an_index: str, start: Start) -> None:
    sandbox = open_sandbox(backend, python=python_with_an_index)
    try:
        kernel = await start(sandbox)
        listed = await kernel.execute("import os, sys; 'uv.toml' in os.listdir(sys.prefix)")
        read = await kernel.execute("open(f'{sys.prefix}/uv.toml').read()")
    finally:
        await sandbox.close()
    assert listed.text == "True\n"
    assert "hunter2" not in read.text
    assert read.text == "''\n" or "Permission denied" in read.text


@in_one_loop
@pytest.mark.parametrize("home", ["{prefix}", "{prefix}/inner", "/"])
async def test_environment_that_shows_a_home_is_refused(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = find_python(None).folders[0]
    monkeypatch.setenv("HOME", home.format(prefix=prefix))
    sandbox = open_sandbox("bubblewrap")
    availability = await sandbox.check()
    assert availability.works == (home == "/")
    assert home == "/" or ("home folder" in availability.detail and "python -m venv" in availability.remedy)
    assert not sandbox._kernels  # type: ignore[attr-defined]
    await sandbox.close()


@in_one_loop
async def test_missing_bubblewrap_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    sandbox = open_sandbox("bubblewrap")
    availability = await sandbox.check()
    assert (availability.works, availability.remedy) == (False, "apt-get install bubblewrap")
    await sandbox.close()


@in_one_loop
async def test_broken_bubblewrap_is_told_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox = open_sandbox("bubblewrap")
    availability = await sandbox.check()
    assert not availability.works
    assert "No permissions to create new namespace" in availability.detail
    assert "max_user_namespaces" in availability.remedy
    await sandbox.close()


@in_one_loop
async def test_remote_docker_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    sandbox = open_sandbox("docker")
    availability = await sandbox.check()
    assert not availability.works
    assert "tcp://192.0.2.1:2375" in availability.detail
    await sandbox.close()


@in_one_loop
async def test_missing_docker_daemon_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    sandbox = open_sandbox("docker")
    availability = await sandbox.check()
    assert (availability.works, availability.detail) == (False, "no Docker daemon answers")
    assert availability.remedy
    await sandbox.close()


@in_one_loop
async def test_check_works_and_leaves_nothing(sandbox: Sandbox, start: Start) -> None:
    await (await start(sandbox)).close()
    assert (await sandbox.check()).works


def test_import_is_light() -> None:
    heavy = "{'zmq', 'jupyter_client', 'docker', 'IPython'}"
    code = f"import sys, toolablate.sandbox; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
