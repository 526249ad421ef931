"""How DynamoDB is reached, as far as the user says. Nothing is looked up or opened here."""

from __future__ import annotations  # aiobotocore, which the annotations name, is not loaded here

import sys
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, cast

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
"""Setting, module and name of its class, and an example. The module is not imported: if a value is of the class, it has
been."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Where DynamoDB is, and the credentials to ask it with. What is left out is looked up as aiobotocore does it.

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

    min_connections: int = 0
    """How many connections are made when the transport opens, TLS included, so that no request waits for them."""

    def __post_init__(self) -> None:
        for setting, module, name, example in _KINDS:
            value: object = getattr(self, setting)
            if value is not None and not isinstance(value, getattr(sys.modules.get(module), name, ())):
                # Its value is not shown: it may be a secret.
                raise ConfigurationError(
                    f"{setting} cannot be of type {type(value).__name__}; write {setting}={example}"
                )
        least: object = self.min_connections
        if not isinstance(least, int) or isinstance(least, bool) or least < 0:
            raise ConfigurationError(f"min_connections={least!r}: give a whole number from 0 up")
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
        if config is not None:
            check_config(config)
        configured = None if config is None else config.region_name
        if self.region is not None and configured is not None and self.region != configured:
            raise ConfigurationError(
                f"region={self.region!r} and AioConfig(region_name={configured!r}) contradict each other; pass one of "
                "them"
            )


def check_config(config: Any) -> None:
    """Check the settings of an AioConfig that are used here, because botocore takes any value.

    Raises:
        ConfigurationError: a setting cannot work; the message names it.
    """
    most = config.max_pool_connections
    if not isinstance(most, int) or most < 1:
        raise ConfigurationError(f"AioConfig(max_pool_connections={most!r}): give a whole number from 1 up")
    for name in ("connect_timeout", "read_timeout"):
        seconds: object = getattr(config, name)
        if seconds is not None and not (isinstance(seconds, int | float) and seconds > 0):
            raise ConfigurationError(
                f"AioConfig({name}={seconds!r}): give a number of seconds above 0, or None for no limit"
            )
    for name in ("user_agent", "user_agent_extra"):
        text: object = getattr(config, name)
        if text is not None and not (isinstance(text, str) and text.isprintable()):
            raise ConfigurationError(
                f"AioConfig({name}={text!r}): give a text without line breaks and control characters; it is sent in "
                "a header"
            )
    proxies = cast("object", config.proxies)
    addresses = cast("dict[object, object]", proxies).values() if isinstance(proxies, dict) else ()
    if proxies is not None and not (isinstance(proxies, dict) and all(map(_is_text_or_none, addresses))):
        # They are not shown: an address may hold a password.
        raise ConfigurationError('AioConfig(proxies=...): give a dict such as {"https": "http://proxy:3128"}')
    certificate: Any = config.client_cert
    parts = cast("tuple[Any, ...]", certificate) if isinstance(cast("object", certificate), tuple) else ()
    if not (all(map(_is_text_or_none, parts)) if len(parts) == 2 else _is_text_or_none(certificate)):
        raise ConfigurationError(
            f"AioConfig(client_cert={certificate!r}): give the path of a file, or a tuple of those of the certificate "
            "and its key"
        )
    connector: Any = getattr(config, "connector_args", None)  # botocore's own has none
    if certificate and connector and connector.get("ssl_context") is not None:
        raise ConfigurationError(
            "AioConfig(client_cert=...) has no effect beside an ssl_context in connector_args; give the certificate to "
            "the context, by its method load_cert_chain, and drop client_cert"
        )
    kind: object = getattr(config, "http_session_cls", object)  # botocore's own has none
    if not isinstance(kind, type):
        raise ConfigurationError(
            f"AioConfig(http_session_cls={kind!r}): give a class, such as aiobotocore.httpsession.AIOHTTPSession"
        )


def _is_text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)
