"""Logs of Inspect, `.eval` and `.json`."""

from toolablate.formats.imports.inspect.reading import read_log

__all__ = ["read_log"]
