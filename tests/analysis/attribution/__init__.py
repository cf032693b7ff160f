"""tests.analysis.attribution"""
