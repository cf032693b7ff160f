"""Signals of a trace: what can be read from it alone, always the same, each with the events that are its evidence."""
