"""A store of a million trials: planned, resumed, compared, attributed. `python -m bench.scale -h`."""
