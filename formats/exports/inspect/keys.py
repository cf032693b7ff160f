"""Where an Inspect log has what Inspect itself does not know."""

KEY = "toolablate"
"""Of the metadata of a log, a sample, an event, a message or a score: what an import reads again."""

COUNTED = "score"
"""The one scorer of a log where those of a run are several, each for its kind of question: the score that counts."""
