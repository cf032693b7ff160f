"""The tables of a scoreboard, each with what to know before reading it."""

from toolablate.benchmarks.lpfqa.boards.view import scoreboard_view

__all__ = ["scoreboard_view"]
