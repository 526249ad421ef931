"""The addresses of a host: looked up for each new connection, and tried as "happy eyeballs" has it.

Source: https://www.rfc-editor.org/rfc/rfc8305
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Final

import aiohappyeyeballs

from dynamap_async.transport.credentials import OneForAll

_happy_eyeballs: Any = aiohappyeyeballs  # partly unannotated
_NEXT_AFTER_SECONDS: Final = 0.25
"""How long an address has before the next is tried beside it."""

_Address = tuple[Any, Any, int, str, Any]
"""As ``getaddrinfo`` gives it."""


class Addresses:
    """Those of one host and port."""

    def __init__(self, name: str, port: int) -> None:
        """Look nothing up.

        Args:
            name: the host's name or address.
            port: the port to connect to.
        """
        self._name: Final = name
        self._port: Final = port
        self._looking: Final = OneForAll[list[_Address]]()

    async def connect(self) -> socket.socket:
        """Return a socket that is connected to the first address that answers.

        Raises:
            OSError: the name is not known, or none of its addresses answered.
        """
        found = await self._looking.run(self._look_up)
        try:
            connected: socket.socket = await _happy_eyeballs.start_connection(
                found, happy_eyeballs_delay=_NEXT_AFTER_SECONDS, interleave=1
            )
        except RuntimeError as error:  # uvloop's, for addresses that it cannot connect to
            raise OSError(str(error)) from error
        return connected

    async def _look_up(self) -> list[_Address]:
        try:
            return socket.getaddrinfo(
                self._name, self._port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
            )
        except socket.gaierror:  # it is a name
            loop = asyncio.get_running_loop()
            return await loop.getaddrinfo(self._name, self._port, type=socket.SOCK_STREAM)
