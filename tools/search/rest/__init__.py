"""Search services with a REST API: thin adapters over one client and one table of what their replies mean."""

from toolablate.tools.search.rest.brave import Brave
from toolablate.tools.search.rest.client import Limits
from toolablate.tools.search.rest.exa import Exa
from toolablate.tools.search.rest.provider import RestSearch
from toolablate.tools.search.rest.searxng import Searxng
from toolablate.tools.search.rest.serper import Serper
from toolablate.tools.search.rest.service import Service, Settings
from toolablate.tools.search.rest.tavily import Tavily

__all__ = ["Brave", "Exa", "Limits", "RestSearch", "Searxng", "Serper", "Service", "Settings", "Tavily"]
