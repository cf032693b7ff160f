"""How fast, how small and how costly an isolated kernel is, beside a plain ipykernel: `python -m bench.kernels`."""
