"""tests.experiments.attribution"""
