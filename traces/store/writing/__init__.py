"""What recorders write, and the thread that does it."""
