"""Traces in a browser: a local web application over one store. Starlette is an extra (`toolablate[view]`)."""
