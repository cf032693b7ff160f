"""The pages, a module each: `ROUTES` says where they are."""
