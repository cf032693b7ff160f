"""Requests that go to an endpoint many at a time, in files, for a part of the price: OpenAI's batch API."""

from toolablate.agents.batches.kept import KeptBatches
from toolablate.agents.batches.source import BatchedSource, Batches

__all__ = ["BatchedSource", "Batches", "KeptBatches"]
