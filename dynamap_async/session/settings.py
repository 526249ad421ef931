"""The settings of a session: what they are checked for, and what the session makes of them.

Those of its connection are checked by ``Connection``, observers and hooks where they are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from dynamap_async.config import BatchPolicy, CapacityPolicy, RetryPolicy
from dynamap_async.errors import ConfigurationError, ModelDefinitionError
from dynamap_async.errors.habits import closest
from dynamap_async.executor import is_async
from dynamap_async.models import Model, definition_of, warn_caller
from dynamap_async.native import ACTIVE
from dynamap_async.planning import Context, TableNames
from dynamap_async.schema import TableSchema
from dynamap_async.transport import Connection, Transport, WireTransport

if TYPE_CHECKING:
    from dynamap_async.session.runner import Runner
    from dynamap_async.session.write_back import WriteBack
    from dynamap_async.transport import AioClient

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
        raise ConfigurationError(f"close_timeout_seconds={close_timeout!r}: give seconds, 0 or more")


def to_write_back(upgrade_on_read: object, runner: Callable[[], Runner]) -> WriteBack | None:
    """Return what stores items that were upgraded when they were read, if anything is to.

    Args:
        upgrade_on_read: the setting.
        runner: returns what carries the writes out.

    Raises:
        ConfigurationError: the setting is another than "write" or None.
    """
    if upgrade_on_read is None:
        return None
    if upgrade_on_read != "write":
        raise ConfigurationError(
            f'upgrade_on_read={upgrade_on_read!r}: write "write" to store upgraded items, or leave it out'
        )
    from dynamap_async.session.write_back import WriteBack

    return WriteBack(runner)


def to_context(tables: TableNames, cursor_secret: object, clock: Callable[[], float], transport: Transport) -> Context:
    """Return what the settings of a session add to each operation.

    Raises:
        ConfigurationError: one of them cannot work.
    """
    if not callable(clock) or is_async(clock):
        raise ConfigurationError(
            f"clock={clock!r} is not a plain function that returns epoch seconds; write clock=time.time"
        )
    sends_json = isinstance(transport, WireTransport) and transport.sends_json
    if isinstance(transport, WireTransport) and sends_json:
        transport.leave_items()
    secret = _to_secret(cursor_secret)
    return Context(tables=tables, cursor_secret=secret, clock=clock, splices=sends_json and ACTIVE)


def _to_secret(given: object) -> bytes | None:
    if given is None:
        return None
    if not isinstance(given, (str, bytes)):  # its value is not shown, for it may be one
        raise ConfigurationError(f"cursor_secret must be a string or bytes, not {type(given).__name__}")
    if not given:
        raise ConfigurationError("cursor_secret is empty; drop it, or give a secret")
    secret = given.encode() if isinstance(given, str) else given
    if len(secret) < _SECRET_BYTES:
        warn_caller(
            f"cursor_secret has only {len(secret)} bytes, and could be guessed; use 32 bytes from "
            "secrets.token_bytes(32), the same in all processes",
            UserWarning,
        )
    return secret


def to_transport(
    connection: Connection,
    client: AioClient | None,
    streams_client: AioClient | None,
    transport: Transport | None,
    retry: RetryPolicy,
) -> Transport:
    """Return what a session sends through.

    Args:
        connection: the settings of a connection of its own.
        client: a client of aiobotocore, instead.
        streams_client: the one beside it for streams.
        transport: another transport, instead.
        retry: how long an attempt may take.

    Raises:
        ConfigurationError: several of them are given.
    """
    given = [each for each in (client, transport) if each is not None]
    if given and (connection != Connection() or len(given) > 1):
        raise ConfigurationError(
            "client= and transport= have their own connection; give only one of them, and drop region, endpoint_url, "
            "profile, credentials, aio_session, aio_config and min_connections"
        )
    if streams_client is not None and client is None:
        raise ConfigurationError("streams_client= stands beside client=, which is missing; give both, or neither")
    if client is not None:
        from dynamap_async.transport import ClientTransport  # its maker has loaded aiobotocore

        return ClientTransport(client, streams_client)
    if transport is not None:
        return transport
    return WireTransport(connection, attempt_timeout_seconds=retry.attempt_timeout_seconds)


def check_names_are_declared(names: TableNames) -> None:
    """Raise ConfigurationError for a name in ``table_names`` that no model declares."""
    for name in names.given:
        if any(_schemas(Model, name)):
            continue
        known = sorted({schema.name for schema in _schemas(Model, None)})
        near = closest(name, known)
        meant = f"did you mean {near[0]!r}?" if near else f"they declare {', '.join(known) or 'none'}"
        raise ConfigurationError(
            f"table_names: no model declares the table {name!r}; {meant} (the modules of models are imported before "
            "the session is opened)"
        )


def declared_limits(names: TableNames, table: str) -> dict[tuple[str | None, bool], float | None]:
    """Return the units a second that models declare of a table and its global indexes, for reads and for writes.

    Args:
        names: the session's names of tables.
        table: the table's full name.
    """
    limits: dict[tuple[str | None, bool], float | None] = {}
    if (declared := names.declared(table)) is not None:
        for schema in _schemas(Model, declared):
            throughputs = {None: schema.throughput} | {
                index.name: index.throughput or schema.throughput
                for index in schema.indexes
                if index.kind.has_throughput
            }
            for index, throughput in throughputs.items():
                if throughput is not None:
                    limits |= {(index, False): float(throughput.read), (index, True): float(throughput.write)}
    return limits


def _schemas(model: type[Model], table: str | None) -> Iterator[TableSchema]:
    """Yield what each model says of the table that is declared by this name; None for what it says of any table."""
    for subclass in model.__subclasses__():
        try:
            definition = definition_of(subclass)
        except ModelDefinitionError:
            pass  # a class that is wrong says so where it is used, not where others are
        else:
            schema = definition.table
            if schema is not None and (table is None or definition.is_in(table)):
                yield schema
        yield from _schemas(subclass, table)
