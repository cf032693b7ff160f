"""Trials on the workers of a cluster: what they cost beside trials here, and what is lost to kills."""
