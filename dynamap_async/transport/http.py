"""The transport that sends DynamoDB's JSON itself: encode, sign, send, verify, decode."""

from __future__ import annotations

import asyncio
import copy
import sys
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dynamap_async.config import Credentials, RetryPolicy
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ConfigurationError, CredentialsRejectedError, SessionStateError
from dynamap_async.native import ACTIVE
from dynamap_async.native.json_text import write_json
from dynamap_async.request import Request
from dynamap_async.service import DYNAMODB, Service
from dynamap_async.transport.answers import read_answer, read_in_pieces
from dynamap_async.transport.channel import Answer, Channel, NoHostChannel
from dynamap_async.transport.connection import Connection
from dynamap_async.transport.credentials import CredentialSource, FixedCredentials
from dynamap_async.transport.endpoint import Endpoint
from dynamap_async.transport.failures import transport_error, unsendable
from dynamap_async.transport.pool import Pool
from dynamap_async.transport.settings import (
    DEFAULT_CONNECTIONS,
    OWN_CONNECTOR_ARGS,
    ConnectionSettings,
    complete_settings,
)
from dynamap_async.transport.signing import Signer
from dynamap_async.transport.translate import CLOCK_CODES, EXPIRED_CODES
from dynamap_async.turns import in_turns
from dynamap_async.wire import Body

if TYPE_CHECKING:
    from dynamap_async.transport.hosts import AwsEndpoints

_NOTICEABLE_SKEW_SECONDS = 60.0
_LARGE_BYTES = 128 * 2**10
"""From this size on, an answer may take more than 2 ms to parse."""
_ANY = Credentials(access_key_id="local", secret_access_key="local")  # noqa: S106 - no engine verifies it
"""The access key for an engine on this machine, if no other is found: it takes any, but needs one."""
_SECRET_LENGTH = 16
"""The shortest access key that AWS gives; what is shorter was made up, and is not secret.

Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_AccessKey.html
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """What the requests to one service are signed with and sent over."""

    endpoint: Endpoint
    channel: Channel
    signer: Signer


class _Lookup:
    """The settings of a connection, looked up when they are first needed. They belong to no event loop."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._settings: dict[Service, ConnectionSettings] = {}

    async def settings(self, service: Service) -> ConnectionSettings:
        """Return the settings with which a service is reached."""
        found = self._settings.get(service)
        if found is None:
            found = complete_settings(self.connection)
            if found is None or found.endpoint.encrypted:
                found = await asyncio.to_thread(look_up, self.connection, service, found)
            self._settings[service] = found
        return found


class ServerClock:
    """This machine's clock, corrected by what the service says the time is."""

    def __init__(self) -> None:
        self._offset_seconds = 0.0

    def now(self) -> float:
        """Return seconds since the epoch."""
        return time.time() + self._offset_seconds

    def correct(self, date: str | None) -> bool:
        """Follow an answer's ``Date`` header; return whether it was more than a minute away."""
        from email.utils import parsedate_to_datetime  # loads a lot that is needed for a wrong clock only

        try:
            theirs = parsedate_to_datetime(date or "").timestamp()
        except (ValueError, OverflowError):  # it is no date, or none that there can be
            return False
        drift = theirs - self.now()
        if abs(drift) <= _NOTICEABLE_SKEW_SECONDS:
            return False
        self._offset_seconds += drift
        return True


class WireTransport:
    """Sends each request once, with credentials, region and endpoint as aiobotocore finds them.

    No event of botocore fires, so whoever hooks botocore uses ``ClientTransport``. A request is sent a second time
    only where DynamoDB refused to look at it: the signature's time was wrong, or the credentials had expired.

    Args:
        connection: where DynamoDB is, and the credentials to ask it with.
        attempt_timeout_seconds: how long ``send`` may take, as far as whoever calls it knows. Half of it may go into
            connecting, so that what cannot connect is known not to have been sent.
    """

    sends_json: ClassVar[bool] = True
    """Whether bodies may hold parts that are JSON already, and items of answers be left as theirs.

    A class that is derived from it may look at both, and gets neither unless it says ``sends_json=True`` beside its
    base.
    """

    def __init_subclass__(cls, *, sends_json: bool = False, **others: Any) -> None:
        super().__init_subclass__(**others)
        cls.sends_json = sends_json

    def __init__(
        self, connection: Connection, *, attempt_timeout_seconds: float = RetryPolicy().attempt_timeout_seconds
    ) -> None:
        """Describe the connection; nothing is looked up or opened.

        Args:
            connection: where DynamoDB is, and the credentials to ask it with.
            attempt_timeout_seconds: how long one attempt may take; up to half of it goes into connecting.
        """
        self._lookup = _Lookup(connection)
        self._longest_connect_seconds = attempt_timeout_seconds / 2
        self._clock = ServerClock()
        self._credentials: CredentialSource | None = None
        """The source of credentials for every service; None while the transport is not open."""
        self._opened: dict[Service, _Opened] = {}
        """What requests are sent with to the services that have one host for all accounts."""
        self._of_accounts: dict[tuple[Service, str | None], _Opened] = {}
        """The same of services of AWS, which have a host for each account."""
        self._aws: dict[Service, AwsEndpoints] = {}
        """The hosts of those services."""
        self._opening = asyncio.Lock()
        self._max_connections = DEFAULT_CONNECTIONS
        self._leaves_items = False

    @property
    def max_connections(self) -> int:
        """How many requests can travel at the same time; known once the transport is open."""
        return self._max_connections

    def __repr__(self) -> str:
        opened = next((each for each in (*self._opened.values(), *self._of_accounts.values())), None)
        way = "not open" if opened is None else f"to {opened.endpoint.url} over {opened.channel.name}"
        return f"<{type(self).__name__} {way}>"

    def leave_items(self) -> None:
        """Leave the items of answers as their JSON from now on, where the native codec can decode that.

        They are mappings all the same. A session asks for it, unless its transport is one that may look at them.
        """
        self._leaves_items = ACTIVE

    def another(self) -> Self:
        """Return a transport of the same connection with connections of its own, also for another event loop.

        What was looked up is used again.
        """
        other = copy.copy(self)
        other._clock, other._opening = ServerClock(), asyncio.Lock()  # noqa: SLF001 - another of the same class
        other._credentials, other._opened, other._of_accounts, other._aws = None, {}, {}, {}  # noqa: SLF001 - likewise
        return other

    async def open(self) -> None:
        """Find region, endpoint and credentials, and get ready to send.

        Raises:
            ConfigurationError: one of them is missing or cannot be used, or ``mock_aws`` is active and would be passed.
        """
        settings = await self._lookup.settings(DYNAMODB)
        refuse_mocked(settings.endpoint)
        credentials = credential_source(self._lookup.connection, settings)
        try:
            used, aws = await credentials.current(), settings.aws
            account = None if aws is None or aws.account_mode == "disabled" else used.account_id
            if aws is None or not aws.waits_for_account(account):
                self._keep(await self._open_service(DYNAMODB, account), DYNAMODB, account, aws)
        except BaseException:
            await credentials.close()
            raise
        self._max_connections = settings.config.max_pool_connections
        self._credentials = credentials

    async def send(self, request: Request) -> Body:
        """Send the request and return the answer's JSON object.

        Args:
            request: the operation with its body in wire form.

        Raises:
            ServiceError: DynamoDB answered with an error.
            TransportError: no usable answer arrived.
            EncodeError: the request cannot be encoded, so nothing was sent.
            ConfigurationError: credentials could not be refreshed.
            SessionStateError: the transport is not open.
        """
        credentials = self._credentials
        if credentials is None:
            raise SessionStateError("the transport is not open: await open() before send()")
        try:
            body = write_json(request.body)
        except TypeError as error:
            raise unsendable(request, error) from None
        remedied = False
        while True:  # once more at most: after other credentials were found, or the clock was set right
            used = credentials.fixed or await credentials.current()
            opened = self._opened.get(request.service) or self._opened_at_hand(request, used)
            if opened is None:
                opened = await self._opened_for(request, used)
            headers = opened.signer.sign(used, request.operation, body, self._clock.now())
            try:
                answer = await opened.channel.post(headers, body)
            except opened.channel.errors as error:
                raise transport_error(error, request, opened.endpoint.place) from error
            try:
                if len(answer.body) < _LARGE_BYTES:  # a larger one would hold the event loop for too long
                    return read_answer(request, answer, leaves_items=self._leaves_items)
                return await in_turns(read_in_pieces(request, answer, leaves_items=self._leaves_items))
            except CredentialsRejectedError as error:  # DynamoDB has not looked at the request, so a repeat is safe
                if remedied or not await self._remedied(credentials, error, answer, used):
                    error.args = tuple(_without_secrets(str(each), used) for each in error.args)
                    raise
            remedied = True

    async def close(self) -> None:
        """Close all connections; credentials and sessions that the user brought stay as they are."""
        credentials, self._credentials = self._credentials, None
        opened = [*self._opened.values(), *self._of_accounts.values()]
        self._opened, self._of_accounts = {}, {}
        async with AsyncExitStack() as closing:  # so that each is closed, whatever becomes of the others
            for each in opened:
                closing.push_async_callback(each.channel.close)
            if credentials is not None:
                closing.push_async_callback(credentials.close)

    def _opened_at_hand(self, request: Request, used: Credentials) -> _Opened | None:
        """Return what a request to a host of AWS's is sent with, if one went there before."""
        aws = self._aws.get(request.service)
        return None if aws is None else self._of_accounts.get((request.service, aws.account_of(request, used)))

    async def _opened_for(self, request: Request, used: Credentials) -> _Opened:
        """Return what a request is sent with; open it for the first request that goes to its host."""
        service = request.service
        async with self._opening:
            aws = (await self._lookup.settings(service)).aws
            account = None if aws is None else aws.account_of(request, used)
            opened = self._opened.get(service) or self._opened_at_hand(request, used)
            if opened is None:
                opened = await self._open_service(service, account)
                if self._credentials is None:
                    await opened.channel.close()
                    raise SessionStateError("the transport was closed before the request was sent")
                self._keep(opened, service, account, aws)
            return opened

    def _keep(self, opened: _Opened, service: Service, account: str | None, aws: AwsEndpoints | None) -> None:
        if aws is None:
            self._opened[service] = opened
        else:
            self._aws[service] = aws
            self._of_accounts[service, account] = opened

    async def _open_service(self, service: Service, account: str | None) -> _Opened:
        """Get ready to send to a service.

        Args:
            service: the service.
            account: the account whose host is wanted, where AWS has one for each.
        """
        settings = await self._lookup.settings(service)
        if settings.aws is not None:
            settings = await settings.for_endpoint(settings.aws.of(account))
        endpoint = settings.endpoint
        return _Opened(
            endpoint=endpoint,
            channel=await self.open_channel(settings),
            signer=Signer(service, region=endpoint.region, host=endpoint.host, path=endpoint.path),
        )

    async def open_channel(self, settings: ConnectionSettings) -> Channel:
        """Return what requests to one endpoint are sent over. A class that is derived from it may send otherwise.

        Args:
            settings: what the connection turned out to be.

        Raises:
            ConfigurationError: the HTTP client does not accept the settings.
        """
        # Other services and accounts have hosts of their own, which are opened with the first request that goes there.
        number = self._lookup.connection.min_connections if self._credentials is None else 0
        return await open_channel(settings, self._longest_connect_seconds, number)

    async def _remedied(
        self, credentials: CredentialSource, error: CredentialsRejectedError, answer: Answer, used: Credentials
    ) -> bool:
        if error.service_code in EXPIRED_CODES:
            return await credentials.renew(used)
        return error.service_code in CLOCK_CODES and self._clock.correct(answer.headers.get("date"))


def _without_secrets(message: str, used: Credentials) -> str:
    """Return a message of the service without credentials, since it may quote the headers that it refuses.

    Short ones stay: they were made up for an engine on this machine, and may be part of any word.
    """
    for secret in (used.access_key_id, used.secret_access_key, used.session_token):
        message = message.replace(secret, "...") if secret and len(secret) >= _SECRET_LENGTH else message
    return message


def look_up(connection: Connection, service: Service, complete: ConnectionSettings | None) -> ConnectionSettings:
    """Look up what the connection leaves open. This blocks: it reads files, and may import aiobotocore.

    Args:
        connection: where DynamoDB is, and the credentials to ask it with.
        service: the service that is to be reached.
        complete: what lacks nothing but how to encrypt, if that is so.

    Raises:
        ConfigurationError: something is missing, contradictory or unreadable; the message says what to do.
    """
    from dynamap_async.transport.environment import environment_settings  # in the thread that this is run in,
    from dynamap_async.transport.tls import encrypted  # like what follows

    found = complete or environment_settings(connection, service)
    if found is not None and (not found.endpoint.encrypted or (found := encrypted(found)) is not None):
        return found
    from dynamap_async.transport.lookup import resolve_settings

    return resolve_settings(connection, service)


def refuse_mocked(endpoint: Endpoint) -> None:
    """Refuse an endpoint of AWS while moto's ``mock_aws`` is active: it changes botocore, and would stop no request.

    Raises:
        ConfigurationError: it is active.
    """
    moto: Any = sys.modules.get("moto.core.models")
    stubber = getattr(moto, "botocore_stubber", None)
    if stubber is None or not stubber.enabled:
        return
    from dynamap_async.transport.hosts import is_aws_host  # which a session with an engine does not need

    if is_aws_host(endpoint.name):
        raise ConfigurationError(
            f"moto's mock_aws is active, and this session would send past it, to {endpoint.host}; use the fixture "
            "dynamap_session, or LocalEngine().session(), or give endpoint_url"
        )


async def open_channel(
    settings: ConnectionSettings, longest_connect_seconds: float, min_connections: int = 0
) -> Channel:
    """Return the channel that the settings ask for.

    Args:
        settings: what the connection turned out to be.
        longest_connect_seconds: how long connecting may take at most, whatever the settings say.
        min_connections: how many connections to make at once; not by proxies and HTTP clients of the user's.

    Raises:
        ConfigurationError: the HTTP client does not accept the settings.
    """
    if not settings.endpoint.can_exist:  # before any look-up, which could take seconds to say so
        return NoHostChannel(settings.endpoint)
    if settings.sends_by_session_class:
        from dynamap_async.transport.session_class import open_session_class  # the look-up loaded it

        return await open_session_class(settings, longest_connect_seconds)
    if settings.config.connector_args.keys() <= OWN_CONNECTOR_ARGS:
        pool = Pool(settings, longest_connect_seconds)
        try:
            if min_connections:
                await pool.connect(min_connections)
        except BaseException:
            await pool.close()
            raise
        return pool
    from dynamap_async.transport.aiohttp_channel import AiohttpChannel  # the look-up loaded it

    return AiohttpChannel(settings, longest_connect_seconds)


def credential_source(connection: Connection, settings: ConnectionSettings) -> CredentialSource:
    """Return the source of credentials: the access key that was given or is in the environment, or the session's."""
    fixed = connection.credentials or settings.credentials
    if fixed is not None:
        return FixedCredentials(fixed)
    from dynamap_async.transport.session_credentials import SessionCredentials  # the look-up loaded it

    return SessionCredentials(settings.session, otherwise=_ANY if settings.endpoint.is_loopback else None)
