"""Addresses that take DynamoDB requests."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import quote, urlsplit

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ConfigurationError

_SECRETS = re.compile(r"^(https?://)?.*(?=@)|([?#]).*", re.IGNORECASE | re.DOTALL)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.IGNORECASE)
_LONGEST_NAME = 253
FIPS_NAME = re.compile("fips-|-fips")
"""The part of a region's name that stands for its FIPS endpoint. Hosts and signatures name the region without it."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An address that takes DynamoDB requests."""

    url: str
    """The whole address, with a path."""

    host: str
    """The value of the ``Host`` header: lower case, with the port unless it is the scheme's own."""

    path: str
    """The path as a signature wants it."""

    region: str
    """The region that signatures are made for."""

    @property
    def encrypted(self) -> bool:
        """Whether the connection uses TLS."""
        return self.url.startswith("https:")

    @property
    def place(self) -> str:
        """Host and region, as messages name them."""
        return f"{self.host} (region {self.region!r})"

    @property
    def name(self) -> str:
        """The name of the host, or its address."""
        return urlsplit(self.url).hostname or ""

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this machine are reached there, such as a local engine."""
        if self.name == "localhost":
            return True
        try:
            return ip_address(self.name).is_loopback
        except ValueError:  # another name
            return False

    @property
    def port(self) -> int:
        """The port of the host."""
        return urlsplit(self.url).port or _DEFAULT_PORTS["https" if self.encrypted else "http"]

    @property
    def target(self) -> str:
        """The path as it was given, for the first line of a request."""
        return quote(urlsplit(self.url).path, safe="!$%&'()*+,-./:;=@_~")

    @property
    def can_exist(self) -> bool:
        """Whether a host can have the name. One with an underscore can: containers have such names."""
        name = self.name.removesuffix(".")
        try:
            if ":" in name or name.rpartition(".")[2].isdigit():
                ip_address(name)
                return True
            ascii_name = name if name.isascii() else name.encode("idna").decode()  # whose codec takes 1 ms to load
        except ValueError:
            return False
        return len(ascii_name) <= _LONGEST_NAME and all(map(_LABEL.fullmatch, ascii_name.split(".")))


def to_endpoint(url: str, region: str) -> Endpoint:
    """Parse an address.

    Raises:
        ConfigurationError: it is not a plain HTTP address.
    """
    try:
        parts = urlsplit(url)
        name, port = parts.hostname, parts.port
    except ValueError:  # whose message may quote what stands before an @, as a port
        raise ConfigurationError(
            f'the endpoint {_shown(url)} is not an address; write one such as "http://host:8000"'
        ) from None
    if parts.scheme not in _DEFAULT_PORTS or not name or "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigurationError(
            f'the endpoint {_shown(url)} must look like "https://host" or "http://host:8000", '
            "without a user, a query or a fragment"
        )
    host = f"[{name}]" if ":" in name else name
    if port is not None and port != _DEFAULT_PORTS[parts.scheme]:
        host = f"{host}:{port}"
    path = parts.path or "/"
    return Endpoint(
        url=f"{parts.scheme}://{host}{path}",
        host=host,
        path=quote(_without_steps(path), safe="/~"),
        region=FIPS_NAME.sub("", region),
    )


def _without_steps(path: str) -> str:
    """Return a path as it is signed: without empty segments, and with ``.`` and ``..`` resolved.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
    """
    steps: list[str] = []
    for step in path.split("/"):
        if step == "..":
            del steps[-1:]
        elif step not in ("", "."):
            steps.append(step)
    return "/" + "/".join(steps) + ("/" if steps and path.endswith("/") else "")


def _shown(url: str) -> str:
    """Return an address for a message, without user, password and query, which may be secret."""
    return repr(_SECRETS.sub(lambda found: f"{found[1] or found[2] or ''}...", url))
