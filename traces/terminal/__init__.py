"""Terminal views of stored traces and comparisons."""
