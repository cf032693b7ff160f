"""Logs that `inspect view` opens."""

from toolablate.formats.exports.inspect.files import is_export, require_inspect, write_logs

__all__ = ["is_export", "require_inspect", "write_logs"]
