"""What works on this machine, and what a plan needs of it."""
