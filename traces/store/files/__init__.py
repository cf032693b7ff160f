"""A store as a file: where it lies, who may open it, and its schema."""
