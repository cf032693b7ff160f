"""The planted benchmark, run and scored."""
