"""Who&When: failed runs of several agents, and which agent at which step is to blame (Zhang et al. 2025, "Which Agent
Causes Task Failures and When?", ICML)."""
