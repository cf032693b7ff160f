"""What happened, and what it means."""
