"""Tables and sentences for a terminal."""
