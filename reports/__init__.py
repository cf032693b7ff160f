"""What shows a store: tables in a terminal, plots, HTML fragments and report files."""
