"""Cells that fill what can be written: with bytes, with files, and with what is neither."""

from collections.abc import Awaitable, Callable

import pytest

from toolablate.sandbox import Kernel

pytestmark = [pytest.mark.deep, pytest.mark.asyncio(loop_scope="module")]

OpenKernel = Callable[..., Awaitable[Kernel]]

FOLDERS = ["/tmp/work", "/dev/shm"]


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize(
    "fill",
    [
        "with open(folder + '/big', 'wb') as f:\n  while n < 200: f.write(bytes(10**6)); f.flush(); n += 1",
        "for i in range(200):\n  with open(f'{folder}/part{i}', 'wb') as f: f.write(bytes(10**6)); n += 1",
        "f = open(folder + '/gone', 'wb'); os.unlink(folder + '/gone')\n while n < 200: f.write(bytes(10**6)); f.flush(); n += 1",
        "f = os.open(folder, os.O_TMPFILE | os.O_RDWR)\n while n < 200: n += os.write(f, bytes(10**6)) / 10**6",
        "f = os.open(folder + '/reserved', os.O_CREAT | os.O_RDWR)\n for i in range(200): os.posix_fallocate(f, i * 10**6, 10**6); n += 1",
        "with open(folder + '/holes', 'wb') as f:\n  for i in range(50_000): f.seek(i * 400); f.write(b'x'); f.flush(); n += 1 / 250",
    ],
    ids=["one big file", "many files", "unlinked", "nameless", "reserved", "holes"],
)  # fmt: skip
async def test_bytes_are_bounded(jail: Kernel, folder: str, fill: str) -> None:
    clear = "import glob, os\nf = None\nfor name in glob.glob(folder + '/*'): os.remove(name)\n"
    code = f"import os\nfolder, n = {folder!r}, 0\ntry:\n {fill}\nexcept OSError as error: pass\nprint(n <= 81)\n"
    assert (await jail.execute(code)).text == "True\n"
    await jail.execute(clear + "for d in range(40, 256):\n try: os.fsync(d)\n except OSError: pass")
    assert (await jail.execute(clear + "open(folder + '/small', 'w').write('fits')")).text == "4\n"


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize(
    "fill",
    [
        "for n in range(10**6): open(f'{folder}/{n}', 'w').close()",
        "for n in range(10**6): os.mkdir(f'{folder}/{n}')",
        "for n in range(10**6): os.symlink('x' * 300, f'{folder}/{n}')",
        "open(folder + '/one', 'w').close()\nfor n in range(10**6): os.link(folder + '/one', f'{folder}/{n}')",
        "for n in range(10**6): os.mkfifo(f'{folder}/{n}')",
        "os.chdir(folder)\nfor n in range(10**6): os.mkdir('d' * 250); os.chdir('d' * 250)",
        "open(folder + '/one', 'w').close()\nfor n in range(10**6): os.setxattr(folder + '/one', f'user.{n}', bytes(2000))",
    ],
    ids=["files", "folders", "symbolic links", "hard links", "named pipes", "deep folders", "attributes"],
)
async def test_number_of_files_is_bounded(jail_with: OpenKernel, folder: str, fill: str) -> None:
    kernel = await jail_with(files=2_000, cell_seconds=10.0)
    result = await kernel.execute(f"import os\nfolder = {folder!r}\n{fill}")
    # A path of 2,000 names takes IPython longer to ask for than the cell has, where it may tell of its failure.
    assert (result.status, result.error) in {
        ("died", "files"),
        ("error", "OSError"),
        ("died", "time"),
        ("timeout", "timeout"),
    }
    after = await kernel.execute("6 * 7")
    if after.error == "files":  # The cell ended by itself before its files were counted: the next one is told.
        after = await kernel.execute("6 * 7")
    assert after.text.endswith("42\n")


async def test_sparse_file_takes_nothing(jail: Kernel) -> None:
    code = "import os\ntry: os.truncate(os.open('sparse', os.O_CREAT | os.O_RDWR), 10**15); print('MADE')\nexcept OSError: print('refused')"
    assert (await jail.execute(code)).text == "refused\n"


async def test_files_of_a_kernel_go_with_it(jail_with: OpenKernel) -> None:
    kernel = await jail_with()
    await kernel.execute("for folder in ('/tmp', '/tmp/work', '/dev/shm'): open(folder + '/left', 'w').write('x')")
    assert (await kernel.execute("import os; os._exit(0)")).status == "died"
    look = "import os\nprint([os.path.exists(folder + '/left') for folder in ('/tmp', '/tmp/work', '/dev/shm')])"
    assert (await kernel.execute(look)).text == "[False, False, False]\n"
