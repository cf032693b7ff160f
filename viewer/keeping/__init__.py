"""A store in a browser: what the viewer shows, computed beside it."""
