"""A store of a hundred thousand traces: how large it is and how fast it is read. `python -m bench.store --help`."""
