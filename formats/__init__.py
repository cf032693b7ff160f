"""Exchange formats: what stores are exported to, and what is imported into them."""
