"""What a user says about how DynamoDB is reached. Nothing is looked up or opened here."""

from __future__ import annotations  # aiobotocore, which the annotations name, is not loaded here

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError

if TYPE_CHECKING:
    from dynamap_async.transport.aio import AioConfig, AioSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Where DynamoDB is and who asks; whatever is left out is looked up as aiobotocore does.

    Raises:
        ConfigurationError: two of the settings contradict each other.
    """

    region: str | None = None
    """The AWS region. Otherwise that of ``aio_config``, the environment or the profile."""

    endpoint_url: str | None = None
    """The address to send to, such as that of a local engine. Otherwise configured or AWS's own for the region."""

    profile: str | None = None
    """The profile of AWS's configuration files to read credentials, region and endpoint from."""

    credentials: Credentials | None = None
    """A fixed access key, instead of aiobotocore's credential chain."""

    aio_session: AioSession | None = None
    """The session to take credentials and configuration from, instead of one of our own."""

    aio_config: AioConfig | None = None
    """HTTP settings: pool size, timeouts, proxies, client certificate. Its retries are not used: ours are."""

    def __post_init__(self) -> None:
        if self.profile is not None and self.aio_session is not None:
            raise ConfigurationError(
                "profile and aio_session contradict each other: an aio_session brings its own profile, "
                "so make it with AioSession(profile=...)"
            )
        if self.profile is not None and self.credentials is not None:
            raise ConfigurationError("profile and credentials both say who asks: pass one of them")
        config: Any = self.aio_config
        configured = None if config is None else config.region_name
        if self.region is not None and configured is not None and self.region != configured:
            raise ConfigurationError(
                f"region={self.region!r} and AioConfig(region_name={configured!r}) contradict each other: "
                "pass one of them"
            )
