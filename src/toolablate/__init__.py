"""Identical questions under scripted tool conditions, and why a tool made a model worse."""

from importlib.metadata import version

__version__ = version("toolablate")
