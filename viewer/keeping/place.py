"""Where the index of a store is kept: it is made of the store, and deleted without loss."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from toolablate.experiments.attribution.readings_cache import file_for, kept_folder
from toolablate.viewer.keeping.scope import Scope


@contextmanager
def index_place(scope: Scope) -> Iterator[Path]:
    """The path of the index of what is viewed: in `$XDG_CACHE_HOME/toolablate/view`, by default below `~/.cache`, for
    nobody else to read. Where nothing can be kept it is in a folder that ends with this."""
    with ExitStack() as ending:
        folder = kept_folder("view")
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="toolablate-view-", ignore_cleanup_errors=True)
            folder = Path(ending.enter_context(temporary))
        place = folder / file_for(replace(scope, store=scope.store.resolve()).to_json())
        place.touch(mode=0o600)
        yield place


def readings_beside(index: Path) -> Path:
    """Where what is read of traces is kept while a viewer lives, if nothing is kept for longer."""
    return index.with_name(f"{index.name}-readings")
