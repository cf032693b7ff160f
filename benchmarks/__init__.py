"""Questions and how their answers are scored."""
