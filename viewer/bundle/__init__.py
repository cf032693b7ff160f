"""A static copy of the viewer's pages, for who has neither the store nor toolablate."""
