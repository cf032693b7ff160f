"""Figures of an analysis, for pages and files; matplotlib is an extra (`toolablate[plots]`), imported to draw."""
