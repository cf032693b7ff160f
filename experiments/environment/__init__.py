"""What the tools, models and judges of all trials stand on, the same for every condition."""
