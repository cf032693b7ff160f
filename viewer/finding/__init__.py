"""Full-text search over the trials of a store: the query, the index, and what is found."""
