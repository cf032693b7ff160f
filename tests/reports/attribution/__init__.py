"""tests.reports.attribution"""
