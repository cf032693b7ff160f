"""The figures themselves, one a file; `traces/plots/plates.py` has them in the order in which people look at them."""
