"""What the endpoints of a plan can do."""
