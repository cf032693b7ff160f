"""A report of a store: what is read for it, and the files that it becomes."""
