"""What `lm_eval --log_samples` writes."""

from toolablate.traces.imports.lm_eval.reading import is_results, read_log

__all__ = ["is_results", "read_log"]
