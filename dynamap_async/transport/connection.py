"""What a user says about how DynamoDB is reached. Nothing is looked up or opened here."""

from __future__ import annotations  # aiobotocore, which the annotations name, is not loaded here

import sys
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.config import Credentials
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ConfigurationError
from dynamap_async.transport.credentials import checked_credentials

if TYPE_CHECKING:
    from dynamap_async.transport.aio import AioConfig, AioSession

_KINDS: Final = (
    ("region", "builtins", "str", '"eu-west-1"'),
    ("endpoint_url", "builtins", "str", '"http://localhost:8000"'),
    ("profile", "builtins", "str", '"dev"'),
    ("credentials", "dynamap_async.config", "Credentials", "Credentials(access_key_id=..., secret_access_key=...)"),
    ("aio_session", "aiobotocore.session", "AioSession", 'AioSession(profile="dev")'),
    ("aio_config", "botocore.config", "Config", "AioConfig(max_pool_connections=100)"),
)
"""Setting, module and name of the class that it is of, and an example. What is of a class has loaded its module, so
none is loaded to find out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Where DynamoDB is and who asks; whatever is left out is looked up as aiobotocore does.

    Raises:
        ConfigurationError: one of the settings is of a wrong type, or cannot work; or two contradict each other.
    """

    region: str | None = None
    """The AWS region. Otherwise that of ``aio_config``, the environment or the profile."""

    endpoint_url: str | None = field(default=None, repr=False)  # one with a password is refused when it is opened
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
        for setting, module, name, example in _KINDS:
            value: object = getattr(self, setting)
            if value is not None and not isinstance(value, getattr(sys.modules.get(module), name, ())):
                # Its value is not shown: it may be a secret.
                raise ConfigurationError(
                    f"{setting} cannot be of type {type(value).__name__}; write {setting}={example}"
                )
        if self.credentials is not None:
            checked_credentials(self.credentials)
        if self.profile is not None and self.aio_session is not None:
            raise ConfigurationError(
                "profile and aio_session exclude each other: an aio_session has its own profile, so make it with "
                "AioSession(profile=...)"
            )
        if self.profile is not None and self.credentials is not None:
            raise ConfigurationError("profile and credentials exclude each other; pass one of them")
        config: Any = self.aio_config
        if config is not None and not _is_pool(config.max_pool_connections):
            raise ConfigurationError(
                f"AioConfig(max_pool_connections={config.max_pool_connections!r}): give a whole number from 1 up"
            )
        configured = None if config is None else config.region_name
        if self.region is not None and configured is not None and self.region != configured:
            raise ConfigurationError(
                f"region={self.region!r} and AioConfig(region_name={configured!r}) contradict each other; pass one of "
                "them"
            )


def _is_pool(connections: object) -> bool:
    return isinstance(connections, int) and connections >= 1
