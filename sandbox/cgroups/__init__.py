"""One cgroup per kernel: what all its processes together may use, and their certain end."""

from toolablate.sandbox.cgroups.group import Cgroup
from toolablate.sandbox.cgroups.groups import Cgroups, NoCgroups, find_cgroups, look_for_cgroups

__all__ = ["Cgroup", "Cgroups", "NoCgroups", "find_cgroups", "look_for_cgroups"]
