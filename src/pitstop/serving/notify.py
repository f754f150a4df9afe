"""Telling systemd how the service is doing, where it asks."""

import os
import socket


def notify_systemd(state: str) -> None:
    """Send the state to the socket that systemd names in $NOTIFY_SOCKET; nothing without one."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.connect(address)
        client.sendall(state.encode())
