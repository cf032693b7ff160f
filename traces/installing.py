"""How an extra or a newer version of toolablate is had, told by how this one was installed."""

import json
import shlex
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

NAME = "toolablate"


def to_install(extra: str) -> str:
    """The command for a shell. What came from a folder or a file is taken from there again, as no index may have it.

    Where from is in the file `direct_url.json`, of the specification "Recording the Direct URL Origin of installed
    distributions" (PyPA, from PEP 610); without it, an index.
    """
    editable, source = _source()
    if source is None:
        wanted = f"{NAME}[{extra}]"
    elif isinstance(source, Path):
        wanted = f"{'.' if source == Path.cwd() else source}[{extra}]"
    else:
        wanted = f"{NAME}[{extra}] @ {source}"
    return f"pip install {'-e ' if editable else ''}{shlex.quote(wanted)}"


def to_upgrade() -> str:
    """What to do for a newer version, in brackets behind "Upgrade toolablate"."""
    editable, source = _source()
    if source is None:
        return f"pip install -U {NAME}"
    if isinstance(source, Path):
        return f"update {source}, then pip install {'-e ' if editable else '-U '}{shlex.quote(str(source))}"
    address, _, _ = source.rpartition("@")
    return f"pip install -U {shlex.quote(f'{NAME} @ {address}')}"


@cache
def _source() -> tuple[bool, Path | str | None]:
    """Whether changes of the source count at once, and the folder, file or address that it was installed from; None
    for an index, and for what is not there any more."""
    try:
        found = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
        url, of_folder, of_checkout = found["url"], found.get("dir_info"), found.get("vcs_info")
    except (PackageNotFoundError, ValueError, KeyError):
        return False, None
    if of_checkout is not None:
        return False, f"{of_checkout['vcs']}+{url}@{of_checkout['commit_id']}"
    path = Path(unquote(urlsplit(url).path))
    if urlsplit(url).scheme != "file" or not path.exists():
        return False, None
    return bool(of_folder and of_folder.get("editable")), path
