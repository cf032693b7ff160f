"""Runs what a plan still lacks, beside whoever else does, and shows it."""
