"""Addresses that take DynamoDB requests."""

from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from dynamap_async.errors import ConfigurationError

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


def to_endpoint(url: str, region: str) -> Endpoint:
    """Take an address apart.

    Raises:
        ConfigurationError: it is not a plain HTTP address.
    """
    try:
        parts = urlsplit(url)
        name, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigurationError(f"the endpoint {url!r} is not an address: {error}") from error
    if parts.scheme not in _DEFAULT_PORTS or not name or "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigurationError(
            f'the endpoint {url!r} must look like "https://host" or "http://host:8000", '
            "without a user, a query or a fragment"
        )
    host = f"[{name}]" if ":" in name else name
    if port is not None and port != _DEFAULT_PORTS[parts.scheme]:
        host = f"{host}:{port}"
    path = parts.path or "/"
    return Endpoint(url=f"{parts.scheme}://{host}{path}", host=host, path=quote(path, safe="/~"), region=region)
