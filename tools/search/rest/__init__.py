"""Search services with a REST API: thin adapters over one client and one table of what their replies mean."""
