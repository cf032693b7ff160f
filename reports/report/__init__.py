"""One self-contained file that says what a store holds and what it means."""
