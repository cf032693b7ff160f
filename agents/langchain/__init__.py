"""Any chat model of LangChain, by its provider's own API. `source` is imported when such a model is opened."""
