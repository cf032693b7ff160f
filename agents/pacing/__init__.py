"""When a request may be sent: what an endpoint takes is learned from its replies and kept by all trials together."""

from toolablate.agents.pacing.line import EndpointLine, EndpointPace, LetGo, Line, Place
from toolablate.agents.pacing.paced import PacedSource, Pressure, lines_of, named_lines, pressures
from toolablate.agents.pacing.waits import counting_waits, note_wait, watched_sending

__all__ = [
    "EndpointLine",
    "EndpointPace",
    "LetGo",
    "Line",
    "PacedSource",
    "Place",
    "Pressure",
    "counting_waits",
    "lines_of",
    "named_lines",
    "note_wait",
    "pressures",
    "watched_sending",
]
