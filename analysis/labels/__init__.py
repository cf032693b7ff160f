"""People's labels: what counts of them, how far they agree, and the queue of trials to be labelled."""
