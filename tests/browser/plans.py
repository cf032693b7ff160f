"""Plans whose stores pages are shown of."""

PLAN = """
baseline = "none"
conditions = ["none", "python", "search"]
repeats = 2
[questions]
file = "builtin"
limit = 8
[search]
provider = "corpus"
corpus = "builtin"
[[models]]
provider = "simulated"
playbook = "builtin"
name = "simulated-steady"
seed = 1
ability = 0.85
confidence = 3.0
literalness = 0.1
trust = 1.5
[[models]]
provider = "simulated"
playbook = "builtin"
name = "simulated-credulous"
seed = 2
ability = 0.85
confidence = 3.0
literalness = 0.7
trust = 4.0
"""

REPLAYED = """
baseline = "none"
conditions = ["none", "python", "search"]
repeats = 2
[questions]
file = "builtin"
limit = 4
[search]
provider = "corpus"
corpus = "builtin"
[[models]]
provider = "simulated"
playbook = "builtin"
name = "credulous"
seed = 2
ability = 0.97
confidence = 3.0
literalness = 0.7
trust = 4.0
"""
"""Able enough without tools that its wrong trials are by what tools gave, however many runs tell so."""
