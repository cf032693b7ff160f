"""The figures themselves, one a file; `reports/plots/plates.py` has them in the order in which people look at them."""
