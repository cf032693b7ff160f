"""Where items come from: threads of forums, as JSON, pages and pictures; pages and regions of books."""
