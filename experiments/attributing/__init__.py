"""Attribution by replay: which trials are replayed, what each needs, what that costs, and running it."""
