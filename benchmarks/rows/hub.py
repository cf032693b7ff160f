"""Rows of a dataset of the Hugging Face hub, and of a folder of files."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from toolablate.benchmarks.rows.json_rows import begins_an_array, json_array, json_lines
from toolablate.benchmarks.rows.parquet_rows import broken, imported, parquet_rows
from toolablate.benchmarks.rows.row_errors import Located, RowPlace, chosen
from toolablate.traces.errors import InputError

DATA_KINDS = (".json", ".jsonl", ".ndjson", ".parquet")


def file_rows(path: Path, keys: Collection[str] | None = None) -> Iterator[Located]:
    """A Parquet file, a JSON file that is one array, or a JSONL, by the end of its name and its beginning. Raises
    InputError."""
    kind = path.suffix.lower()
    if kind == ".parquet":
        return parquet_rows(path, keys)
    if kind == ".json" and begins_an_array(path):
        return json_array(path)
    return json_lines(path)


PREFIX = "hf:"

_NAME = re.compile(r"hf:(?P<repository>[\w.-]+/[\w.-]+)(?:@(?P<revision>[^@#\s]+))?(?:#(?P<split>[^@#\s]+))?")
_CARD = "README.md"


@dataclass(frozen=True, slots=True)
class HubDataset:
    """`name` is how the user wrote it; without a `revision` it is the newest, without a `split` the only one."""

    name: str
    repository: str
    revision: str | None
    split: str


def parse(name: str) -> HubDataset:
    """Reads `hf:owner/name`, `hf:owner/name@revision`, `hf:owner/name@revision#split`. Raises InputError."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise InputError(
            f"{name!r} is not the name of a Hugging Face dataset",
            hint="Write hf:owner/name, hf:owner/name@revision, hf:owner/name#split or hf:owner/name@revision#split.",
            code="bad_hub_name",
        )
    return HubDataset(name, match["repository"], match["revision"], match["split"] or "")


def hub_rows(name: str, keys: Collection[str] | None = None) -> Iterator[Located]:
    """The rows of a dataset, numbered throughout; of tables only the columns of `keys`, where they are given.

    Where the hub cannot be reached, what its cache holds of this revision is read. Raises InputError; for a file that
    is broken it names the file in the cache.
    """
    dataset = parse(name)
    before = number = 0
    for path in _files(dataset, _downloaded(dataset)):
        for place, content in file_rows(path, keys):
            number = before + place.number
            yield RowPlace(name, "row", number), content
        before = number


def _downloaded(dataset: HubDataset) -> Path:
    hub = imported("huggingface_hub", dataset.name)
    transport = imported("httpx2", dataset.name).HTTPError
    patterns = [*(f"*{kind}" for kind in DATA_KINDS), _CARD]
    try:
        folder = hub.snapshot_download(
            dataset.repository, repo_type="dataset", revision=dataset.revision, allow_patterns=patterns
        )
        return Path(folder).resolve()
    except (OSError, ValueError, transport) as error:
        raise _explained(dataset, error, hub.errors) from error


def _explained(dataset: HubDataset, error: Exception, errors: Any) -> InputError:
    if isinstance(error, errors.RevisionNotFoundError):
        return InputError(f"{dataset.name}: the hub has no revision {dataset.revision!r} of it", code="no_revision")
    if isinstance(error, errors.RepositoryNotFoundError | errors.GatedRepoError):
        return InputError(
            f"{dataset.name}: the dataset is not on the hub, or you have no access",
            hint="For a private or gated dataset, set HF_TOKEN to a token of an account with access.",
            code="no_dataset",
        )
    if isinstance(error, errors.HFValidationError):
        return broken(dataset.name, "no name that the hub knows", error)
    if isinstance(error, OSError) and error.errno:
        return InputError(f"{dataset.name}: cannot be downloaded: {error}", code="unreadable")
    cause = error.__cause__ or error
    answered = getattr(getattr(cause, "response", None), "status_code", None)
    reason = f"it answered {answered}" if answered else type(cause).__name__
    return InputError(
        f"{dataset.name}: the Hugging Face hub cannot be reached ({reason}), and its cache on this machine has no copy",
        hint="Try again with a network, or download a file of the dataset and name that.",
        code="unreachable",
    )


def _files(dataset: HubDataset, folder: Path) -> list[Path]:
    """The files of the split, as the dataset's card or their names tell; none but those that were downloaded."""
    datasets = imported("datasets", dataset.name)
    _refuse_foreign_places(dataset, folder)
    try:
        found = datasets.load_dataset_builder(str(folder)).config.data_files or {}
    except FileNotFoundError as error:
        raise _no_data(dataset, "it has no file") from error
    except Exception as error:
        raise broken(dataset.name, "its files cannot be told apart", error) from error
    splits = {str(split): [Path(file) for file in files] for split, files in found.items()}
    files = splits[chosen(dataset.name, dataset.split, list(splits))]
    for file in files:
        if not file.is_relative_to(folder) or ".." in file.parts:
            raise _foreign(dataset, str(file))
        if file.suffix.lower() not in DATA_KINDS:
            raise _no_data(dataset, f"its file {file.name} is not")
    return files


def _refuse_foreign_places(dataset: HubDataset, folder: Path) -> None:
    """A card may name any file of this machine or of the web as the dataset's, and so carry it into questions."""
    if not (folder / _CARD).is_file():
        return
    hub = imported("huggingface_hub", dataset.name)
    try:
        configurations = hub.DatasetCard.load(folder / _CARD).data.to_dict().get("configs")
    except Exception as error:
        # A card is anything that a stranger writes, and YAML has errors of its own.
        raise broken(dataset.name, "its card cannot be read", error) from error
    for text in _texts(configurations):
        path = PurePosixPath(text)
        if "://" in text or "::" in text or path.is_absolute() or ".." in path.parts:
            raise _foreign(dataset, text)


def _texts(value: object) -> Iterator[str]:
    """All texts in it; each part once, since in YAML a part can hold itself."""
    waiting, seen = [value], set[int]()
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict | list) and id(part) not in seen:
            seen.add(id(part))
            waiting += part.values() if isinstance(part, dict) else part


def _foreign(dataset: HubDataset, place: str) -> InputError:
    return InputError(f"{dataset.name}: its card names {place!r}, which is no file of the dataset", code="bad_row")


def _no_data(dataset: HubDataset, what: str) -> InputError:
    return InputError(
        f"{dataset.name}: {what} of a kind that is read; those are {', '.join(DATA_KINDS)}",
        hint="Convert its files yourself, for instance with `datasets`, and name the result.",
        code="unreadable",
    )
