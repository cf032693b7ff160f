"""Records as inert HTML: what pages and the report are made of. Jinja2 is an extra (`toolablate[view]`)."""
