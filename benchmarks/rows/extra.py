"""The libraries of the extra `datasets`, imported when a source needs them."""

import importlib
import os
from typing import Any

from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install

_SILENCE = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_UPDATE_DOWNLOAD_COUNTS": "0",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_VERBOSITY": "error",
    "DATASETS_VERBOSITY": "error",
}
"""They read this once, when they are imported. What a user has set already stays."""


def imported(module: str, needed_for: str) -> Any:
    """A module of the extra. Raises InputError where it is not installed."""
    for name, value in _SILENCE.items():
        os.environ.setdefault(name, value)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"{needed_for}: cannot be read without the package {module.partition('.')[0]}",
            hint=to_install("datasets"),
            code="no_datasets",
        ) from error
