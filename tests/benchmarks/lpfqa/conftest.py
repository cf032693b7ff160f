from tests.examples.published_tables import conftest as examples  # noqa: F401 - the papers' figures, for comparison
