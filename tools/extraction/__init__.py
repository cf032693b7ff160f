"""From the bytes of a document to its text and links: HTML, PDF, feeds and plain text."""

from toolablate.tools.extraction.extract import extract
from toolablate.tools.extraction.kinds import ExtractionOptions
from toolablate.tools.extraction.worker import ExtractionWorker, extractor_identity

__all__ = ["ExtractionOptions", "ExtractionWorker", "extract", "extractor_identity"]
