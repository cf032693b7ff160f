"""The plan file: what it may say, and the trials it calls for."""
