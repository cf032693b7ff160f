"""Scores of trials, by rules and by judges."""
