"""Ports of the loopback address, where engines listen."""

import errno
import socket

from dynamap_async.errors import ConfigurationError
from dynamap_async.testing.probe import HOST

_LAST_PORT = 65535


def checked_port(port: object) -> int:
    """Return a port unchanged if it can be one; 0 stands for any free port.

    Raises:
        ConfigurationError: it is no port.
    """
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= _LAST_PORT:
        raise ConfigurationError(f"port={port!r} is not a port; give a number up to {_LAST_PORT}, or 0 for a free port")
    return port


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the port, or on a free one for 0.

    Raises:
        ConfigurationError: another program listens there, or this one may not.
    """
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigurationError(
                f"port {port} of {HOST} is used by another program; stop that program, or choose another port, or 0 "
                "for a free port"
            ) from error
        raise ConfigurationError(f"port {port} of {HOST} cannot be used: {error.strerror}") from error
