"""Simulated models whose ways to fail are known by construction, to test attribution on."""
