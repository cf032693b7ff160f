"""A viewer of a hundred thousand trials: how soon it is there, how fast its pages are. `python -m bench.viewer -h`."""
