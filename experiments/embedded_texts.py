"""Vectors of texts by the plan's embedding endpoint, each paid for once."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from toolablate.agents.endpoint.embeddings import EmbeddingEndpoint
from toolablate.experiments.diagnosing import refuse_too_dear
from toolablate.experiments.plans.sections import EmbeddingsSection
from toolablate.experiments.record_file import RecordFile
from toolablate.experiments.running.progress import RunProgress
from toolablate.reports.numbers import counted
from toolablate.traces.records import CHARACTERS_PER_TOKEN, KeptVector, OpenAIModel, digest_text

AT_ONCE = 64
LONGEST = 8_000
"""Characters of a text; endpoints refuse what is longer than their models read."""


def embedded(
    section: EmbeddingsSection,
    texts: Mapping[str, str],
    kept: Path,
    *,
    max_cost: float | None = None,
    progress: RunProgress | None = None,
) -> dict[str, tuple[float, ...]]:
    """By the names of the texts. Asks for what the file does not hold yet; each reply is in it before it is used, so
    that after a failure the same command goes on. Raises ToolablateError."""
    progress = progress or RunProgress()
    model = section.asked
    cut = {name: text[:LONGEST] or " " for name, text in texts.items()}
    digests = {name: digest_text(text) for name, text in cut.items()}
    with RecordFile(
        kept,
        KeptVector,
        lambda each: each.asked,
        head=b'{"version":1,"endpoint":"',
        what="vector of a text",
        in_use="another command asks for vectors: wait for it",
    ) as file:
        missing = {
            digests[name]: text
            for name, text in cut.items()
            if (section.endpoint, section.model, digests[name]) not in file.found
        }
        if missing:
            cost = _cost(section, list(missing.values()))
            dear = "at unknown cost" if cost is None else f"for about ${cost:.4g}"
            progress.tell(f"{counted(len(missing), 'text')} to be embedded by {section.model}, {dear}")
            refuse_too_dear(cost, max_cost)
            asyncio.run(_ask(model, section, missing, file))
        return {name: file.found[section.endpoint, section.model, digests[name]].vector for name in cut}


async def _ask(
    model: OpenAIModel, section: EmbeddingsSection, missing: Mapping[str, str], file: RecordFile[KeptVector]
) -> None:
    endpoint, waiting = EmbeddingEndpoint(model), list(missing.items())
    try:
        for start in range(0, len(waiting), AT_ONCE):
            some = waiting[start : start + AT_ONCE]
            vectors = await endpoint.embed([text for _, text in some])
            for (digest, _), vector in zip(some, vectors, strict=True):
                file.append(KeptVector(endpoint=section.endpoint, model=section.model, text=digest, vector=vector))
    finally:
        await endpoint.close()


def _cost(section: EmbeddingsSection, texts: Sequence[str]) -> float | None:
    """US dollars; None where the plan says no price."""
    if section.usd_per_million_tokens is None:
        return None
    return sum(-(-len(text) // CHARACTERS_PER_TOKEN) for text in texts) * section.usd_per_million_tokens / 1e6
