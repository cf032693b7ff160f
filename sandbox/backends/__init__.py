"""How each backend starts, and what to do where it does not."""
