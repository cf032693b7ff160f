"""What `lm_eval --log_samples` writes."""

from toolablate.formats.imports.lm_eval.reading import is_results, read_log

__all__ = ["is_results", "read_log"]
