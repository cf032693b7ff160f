"""Trials on other machines: workers run them, one driver records them and keeps the pace."""
