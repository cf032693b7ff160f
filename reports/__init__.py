"""What shows a store: tables in a terminal, plots, HTML fragments, report files, and why a trial went wrong."""
