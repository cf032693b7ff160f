"""tests.experiments.replay"""
