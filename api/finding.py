"""A store's texts, searched as `toolablate find` does."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from toolablate.analysis.found import ConditionHits, Found, Hit
from toolablate.api.results import Shown

if TYPE_CHECKING:
    from toolablate.formats.frames import Library
    from toolablate.viewer.finding.query import Query

LISTED = 20
MOST_READ = 5_000


@dataclass(frozen=True, slots=True, repr=False)
class Hits(Shown):
    """The trials that a query finds, with their words in context, and how often flips are among them."""

    store: Path
    query: "Query"
    found: Found

    @property
    def frame(self) -> Any:
        """A row for each hit that is listed: pandas, or else polars."""
        return self.to_frame()

    def to_frame(self, library: "Library | None" = None) -> Any:
        from toolablate.formats.frames import frame_of_rows

        rows = [_row(hit) for hit in self.found.hits]
        return frame_of_rows(
            rows, library, columns=[*(each.name for each in fields(Hit) if each.name != "snippets"), "snippet"]
        )

    @property
    def json(self) -> Any:
        """What `toolablate find --json` prints."""
        return json.loads(json.dumps(_found_json(self.found, self.query)))

    def print(self, console: Console) -> None:
        from toolablate.reports.terminal.found import found_view

        console.print(found_view(self.found, self.store))


def find(
    store: Path,
    query: str,
    *,
    field: str = "",
    where: Mapping[str, str],
    limit: int = LISTED,
    read: int = MOST_READ,
    run: str = "latest",
    scorer: str | None = None,
    baseline: str | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> Hits:
    """Raises InputError and StoreError; `tell` hears how far the index is."""
    from toolablate.api.failing import mechanisms_of
    from toolablate.viewer.finding.query import parse
    from toolablate.viewer.finding.store_texts import opened

    asked = parse(query, field)
    with opened(store, run=run, scorer=scorer, baseline=baseline) as texts:
        texts.refresh(tell)
        named = mechanisms_of(store, run, scorer) if asked.has("mechanism") or "mechanism" in where else None
        found = texts.find(asked, where=where, mechanisms=named, limit=limit, most_read=read)
    assert found is not None
    return Hits(store, asked, found)


def _row(hit: Hit) -> dict[str, Any]:
    told = _hit_json(hit)
    first = next(iter(told.pop("snippets")), {"before": "", "match": "", "after": ""})
    return {**told, "snippet": f"{first['before']}{first['match']}{first['after']}"}


def _found_json(found: Found, query: "Query") -> dict[str, Any]:
    return {
        "query": query.text,
        "baseline": found.baseline,
        "trials": found.all.trials,
        "hits": found.all.hits,
        "questions": found.questions,
        "questions_that_say_so": found.asked_total,
        "read": found.read,
        "candidates": found.candidates,
        "unindexed": found.unindexed,
        "by_condition": [_condition_json(row) for row in found.by_condition],
        "found": [_hit_json(hit) for hit in found.hits],
    }


def _condition_json(row: ConditionHits) -> dict[str, Any]:
    return {
        "condition": row.condition,
        "trials": row.all.trials,
        "hits": row.all.hits,
        "questions": row.questions,
        "flips": row.flips.trials,
        "flip_hits": row.flips.hits,
        "rest": row.rest.trials,
        "rest_hits": row.rest.hits,
        "expected_flip_hits": round(row.expected, 4),
        "independent_trials": round(row.units, 2),
        "p": row.p,
        "p_holm": row.corrected,
    }


def _hit_json(hit: Hit) -> dict[str, Any]:
    return {**asdict(hit), "flip": hit.flip or None, "verdict": hit.verdict or None}
