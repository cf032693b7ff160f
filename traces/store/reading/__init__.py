"""What is read from an open store, by subject."""
