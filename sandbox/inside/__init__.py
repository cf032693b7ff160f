"""What runs inside a sandbox: the guardian (process 1), the kernel it forks, and the server that forks both.

This folder is shown to the sandbox as it is and needs nothing but the standard library and, in the kernel, ipykernel.
The host sends a request (JSON) with the five listening sockets over a control socket, later commands; the guardian
answers and, when the kernel has ended, reports. When the host is gone the control socket ends, and all here with it.
"""
