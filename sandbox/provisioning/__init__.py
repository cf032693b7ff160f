"""Isolated kernels for any Jupyter client: jupyter_client's kernel provisioners, found by their entry points."""

from toolablate.sandbox.provisioning.provisioners import (
    BubblewrapProvisioner,
    DockerProvisioner,
    ForkserverProvisioner,
    ProvisioningError,
    SandboxProvisioner,
)

__all__ = [
    "BubblewrapProvisioner",
    "DockerProvisioner",
    "ForkserverProvisioner",
    "ProvisioningError",
    "SandboxProvisioner",
]
