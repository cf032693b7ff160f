"""Figures of an analysis, for files; matplotlib is an extra (`toolablate[plots]`)."""
