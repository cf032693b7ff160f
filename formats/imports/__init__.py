"""Logs of other tools as runs of a store."""
