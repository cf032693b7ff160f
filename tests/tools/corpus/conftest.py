import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from toolablate.tools.corpus import Corpus, CorpusSearch, open_corpus
from toolablate.tools.search.provider import SearchQuery
from toolablate.traces.records import SearchReply

Opener = Callable[..., Corpus]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def opened(tmp_path: Path, cache: Path) -> Opener:
    """Opens a path, or documents that are written into a JSONL file first."""

    def open_it(source: Path | Iterable[Mapping[str, str]], name: str = "documents.jsonl") -> Corpus:
        path = source if isinstance(source, Path) else written(tmp_path / name, source)
        return open_corpus(path, cache=cache)

    return open_it


def written(path: Path, documents: Iterable[Mapping[str, str]]) -> Path:
    path.write_text("\n".join(json.dumps(document, ensure_ascii=False) for document in documents), encoding="utf-8")
    return path


async def asked(corpus: Corpus, query: str, max_results: int = 10, **options: object) -> SearchReply:
    return (await CorpusSearch(corpus).search(SearchQuery(query, max_results, **options))).reply  # type: ignore[arg-type]


async def found(corpus: Corpus, query: str, max_results: int = 10, **options: object) -> list[str]:
    return [result.url for result in (await asked(corpus, query, max_results, **options)).results]
