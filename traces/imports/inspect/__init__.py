"""Logs of Inspect, `.eval` and `.json`."""

from toolablate.traces.imports.inspect.reading import read_log

__all__ = ["read_log"]
