"""How good attributions are where the truth is known."""
