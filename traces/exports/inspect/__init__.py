"""Logs that `inspect view` opens."""

from toolablate.traces.exports.inspect.files import LogNames, require_inspect, write_logs

__all__ = ["LogNames", "require_inspect", "write_logs"]
