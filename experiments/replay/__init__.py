"""Replays: trials continued from one of their events with one thing changed (counterfactuals)."""
