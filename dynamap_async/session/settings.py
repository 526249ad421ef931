"""The settings of a session that are its own: what cannot be one is named where it is given, with a remedy.

Those of its connection are checked by ``Connection``, observers and hooks where they are told.
"""

from collections.abc import Callable
from typing import Final

from dynamap_async.config import BatchPolicy, CapacityPolicy, RetryPolicy
from dynamap_async.errors import ConfigurationError
from dynamap_async.executor import is_async
from dynamap_async.models import warn_caller
from dynamap_async.planning import Context
from dynamap_async.transport import Transport, WireTransport

_POLICIES: Final = {
    "batching": (BatchPolicy, "BatchPolicy(enabled=False)"),
    "retry": (RetryPolicy, "RetryPolicy(max_attempts=3)"),
    "capacity": (CapacityPolicy, 'CapacityPolicy(limits="describe")'),
}
"""Setting -> its class, and an example of it."""
_SECRET_BYTES: Final = 16
"""As many as a signature has: with fewer, guessing the secret is easier than guessing one."""


def check_settings(close_timeout: object, **policies: object) -> None:
    """Raise ConfigurationError for a setting that cannot work; None stands for the default of a policy."""
    for setting, policy in policies.items():
        kind, example = _POLICIES[setting]
        if policy is not None and not isinstance(policy, kind):
            raise ConfigurationError(f"{setting}={policy!r} is not a {kind.__name__}; write {setting}={example}")
    if isinstance(close_timeout, bool) or not isinstance(close_timeout, (int, float)) or not close_timeout >= 0:
        raise ConfigurationError(f"close_timeout_seconds={close_timeout!r}: write a number of seconds from 0 up")


def to_context(
    table_prefix: object, cursor_secret: object, clock: Callable[[], float], transport: Transport
) -> Context:
    """Return what the settings of a session add to each operation.

    Raises:
        ConfigurationError: one of them cannot work.
    """
    if not isinstance(table_prefix, str):
        raise ConfigurationError(f'table_prefix={table_prefix!r} is no text; write table_prefix="shop-dev-"')
    if not callable(clock) or is_async(clock):
        raise ConfigurationError(
            f"clock={clock!r} is no plain function that returns epoch seconds; write clock=time.time, or lambda: 0.0"
        )
    splices = type(transport) is WireTransport  # what is derived from it may look at bodies
    secret = _to_secret(cursor_secret)
    return Context(table_prefix=table_prefix, cursor_secret=secret, clock=clock, splices=splices)


def _to_secret(given: object) -> bytes | None:
    if given is None:
        return None
    if not isinstance(given, (str, bytes)):  # its value is not shown, for it may be one
        raise ConfigurationError(f"cursor_secret is given a {type(given).__name__}; give text or bytes")
    if not given:
        raise ConfigurationError("cursor_secret is empty, so anybody could sign with it; leave it out, or give one")
    secret = given.encode() if isinstance(given, str) else given
    if len(secret) < _SECRET_BYTES:
        warn_caller(
            f"cursor_secret has {len(secret)} bytes, and whoever guesses it can sign cursors; make one of 32 with "
            "secrets.token_bytes(32), and give the same to all processes",
            UserWarning,
        )
    return secret
