"""What a transport opens with. aiobotocore, and what is built on it, is imported here by who needs it, nowhere else."""

from dynamap_async.transport.channel import AiohttpChannel, Channel, NoHostChannel
from dynamap_async.transport.connection import Connection
from dynamap_async.transport.credentials import CredentialSource, FixedCredentials
from dynamap_async.transport.settings import Settings


def look_up(connection: Connection) -> Settings:
    """Look up what the connection leaves open. Blocks: it reads files, and loads aiobotocore where that is not yet.

    Raises:
        ConfigurationError: something is missing, contradictory or unreadable; the message says what to do.
    """
    from dynamap_async.transport.lookup import resolve_settings  # in the thread that this is run in

    return resolve_settings(connection)


async def open_channel(settings: Settings, longest_connect_seconds: float) -> Channel:
    """Return the channel that the settings ask for.

    Args:
        settings: what the connection turned out to be.
        longest_connect_seconds: how long connecting may take at most, whatever the settings say.

    Raises:
        ConfigurationError: the HTTP client does not accept the settings.
    """
    if not settings.endpoint.can_exist:
        return NoHostChannel(settings.endpoint)
    if not settings.sends_by_session_class:
        return AiohttpChannel(settings, longest_connect_seconds)
    from dynamap_async.transport.session_class import open_session_class  # the look-up loaded it

    return await open_session_class(settings, longest_connect_seconds)


def credential_source(connection: Connection, settings: Settings) -> CredentialSource:
    """Return who asks: the access key given, or what the session finds."""
    if connection.credentials is not None:
        return FixedCredentials(connection.credentials)
    from dynamap_async.transport.session_credentials import SessionCredentials  # the look-up loaded it

    return SessionCredentials(settings.session)
