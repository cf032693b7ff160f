"""What people said of a trial, as an export of ours wrote it among a sample's metadata."""

from collections.abc import Mapping
from datetime import UTC
from typing import Any

from pydantic import ValidationError

from toolablate.formats.imports.inspect.ours import ours
from toolablate.traces.errors import InputError
from toolablate.traces.plain import one_line
from toolablate.traces.records import Label

_KEY = "labels"


def labels_of(metadata: Mapping[str, Any], where: str, *, events: int, failed: bool) -> tuple[Label, ...]:
    """In their order, naming no trial yet; none where another tool wrote the log, whatever it calls labels.

    The sample at `where` has so many `events`. Raises InputError for what can be no label of its trial.
    """
    found = metadata.get(_KEY, []) if ours(metadata) else []
    if not isinstance(found, list):
        raise _bad(where, "", "it is no list")
    if found and failed:
        raise _bad(where, "", "the sample failed: there is no answer to find a cause for")
    return tuple(_label(said, where, f".{place}", events) for place, said in enumerate(found))


def _label(said: Any, where: str, place: str, events: int) -> Label:
    if not isinstance(said, dict):
        raise _bad(where, place, "it is no label")
    try:
        label = Label.model_validate({**said, "trial": ""})
        # A time of no zone is no instant, and one at the end of the calendar has none in UTC.
        at = label.at.astimezone(UTC) if label.at.tzinfo else None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise _bad(where, f"{place}.{'.'.join(map(str, first['loc']))}", first["msg"]) from None
    except OverflowError:
        at = None
    if at is None:
        raise _bad(where, f"{place}.at", "it is no instant with its zone")
    if label.turned_at is not None and label.turned_at >= events:
        raise _bad(where, f"{place}.turned_at", f"the sample has {events} events, from 0")
    return label.model_copy(update={"at": at})


def _bad(where: str, place: str, said: str) -> InputError:
    return InputError(f"{where} cannot be taken: metadata.{_KEY}{one_line(place)}: {said}", code="bad_sample")
