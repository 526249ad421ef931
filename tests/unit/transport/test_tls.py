import asyncio
import contextlib
import datetime
import gc
import ssl
import sys
from dataclasses import replace

import pytest
import pytest_asyncio
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.httpxsession import HttpxSession
from botocore.httpsession import DEFAULT_CA_BUNDLE, get_cert_path
from certifi import contents, where
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError, ConnectionFailedError, Outcome, RequestTimeoutError
from dynamap_async.service import DYNAMODB
from dynamap_async.transport import AioConfig, AioSession, Connection, WireTransport
from dynamap_async.transport.http import look_up
from dynamap_async.transport.settings import complete_settings
from dynamap_async.transport.tls import configured_authorities, tls_context


def self_signed(folder):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "localhost.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
def certificate(tmp_path):
    return self_signed(tmp_path)


@pytest.fixture
def server_tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.mark.asyncio
async def test_encrypted_endpoint_is_trusted_by_the_configured_authorities(
    server, connect, get_item, certificate, server_tls, monkeypatch
):
    await server.stop()
    await server.start(server_tls)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    transport = await connect(endpoint_url=server.url.replace("127.0.0.1", "localhost"))
    assert await transport.send(get_item) == {}


@pytest.mark.asyncio
@pytest.mark.parametrize("parts", [lambda path: path, lambda path: (path, path)], ids=["one file", "two files"])
async def test_client_certificate_is_shown(demanding_url, connect, get_item, certificate, parts):
    transport = await connect(endpoint_url=demanding_url, config={"client_cert": parts(str(certificate))})
    assert await transport.send(get_item) == {}


@pytest_asyncio.fixture
async def demanding_url(server, certificate, server_tls, monkeypatch):
    """The address of a server that answers nobody without a certificate of its own."""
    server_tls.verify_mode = ssl.CERT_REQUIRED
    server_tls.load_verify_locations(certificate)
    await server.stop()
    await server.start(server_tls)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    return server.url.replace("127.0.0.1", "localhost")


class AnotherSession(AIOHTTPSession):
    """A class of the user's own."""


shows_none = pytest.mark.xfail(
    not hasattr(AIOHTTPSession, "_build_ssl_contexts"),
    reason="older aiobotocore shows no certificate through a proxy, and none over httpx",
    strict=True,
)


@pytest.mark.asyncio
@pytest.mark.filterwarnings("ignore:aiobotocore's httpx backend:DeprecationWarning")
@pytest.mark.parametrize("kind", [AnotherSession, pytest.param(HttpxSession, marks=shows_none)])
async def test_client_certificate_is_shown_by_a_session_class(demanding_url, connect, get_item, certificate, kind):
    config = {"client_cert": str(certificate), "http_session_cls": kind}
    transport = await connect(endpoint_url=demanding_url, config=config)
    assert await transport.send(get_item) == {}


@pytest.mark.asyncio
async def test_client_certificate_of_the_default_configuration_is_shown(demanding_url, connect, get_item, certificate):
    session = AioSession()
    session.set_default_client_config(AioConfig(client_cert=str(certificate)))
    transport = await connect(endpoint_url=demanding_url, aio_session=session)
    assert await transport.send(get_item) == {}


@pytest.mark.asyncio
@shows_none
async def test_client_certificate_is_shown_through_a_proxy(demanding_url, connect, get_item, certificate, proxy_url):
    config = {"client_cert": str(certificate), "proxies": {"https": proxy_url}}
    transport = await connect(endpoint_url=demanding_url, config=config)
    assert await transport.send(get_item) == {}


@pytest.mark.asyncio
async def test_untrusted_certificate_was_not_sent(server, connect, get_item, server_tls):
    await server.stop()
    await server.start(server_tls)
    transport = await connect(endpoint_url=server.url.replace("127.0.0.1", "localhost"))
    with pytest.raises(ConnectionFailedError, match="certificate.*AWS_CA_BUNDLE") as raised:
        await transport.send(get_item)
    assert (raised.value.outcome, raised.value.retryable) == (Outcome.NOT_SENT, False)
    assert server.requests == []


@pytest.mark.asyncio
async def test_a_certificate_of_another_name_is_not_tried_again(
    server, connect, get_item, certificate, server_tls, monkeypatch
):
    await server.stop()
    await server.start(server_tls)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    transport = await connect()
    with pytest.raises(ConnectionFailedError, match="not valid for '127.0.0.1'") as raised:
        await transport.send(get_item)
    assert (raised.value.outcome, raised.value.retryable) == (Outcome.NOT_SENT, False)


@pytest.mark.asyncio
async def test_a_server_that_speaks_no_tls_is_not_tried_again(connect, get_item):
    async def answer(reader, writer):
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    transport = await connect(endpoint_url=f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    with pytest.raises(ConnectionFailedError, match="takes https") as raised:
        await transport.send(get_item)
    assert (raised.value.outcome, raised.value.retryable) == (Outcome.NOT_SENT, False)
    server.close()
    await server.wait_closed()


@pytest_asyncio.fixture
async def accepted():
    """Return the event of a connection that the mute server has accepted."""
    return asyncio.Event()


@pytest_asyncio.fixture
async def mute(accepted):
    """A server that accepts connections and never says anything; its port."""
    ended = asyncio.Event()

    async def accept(reader, writer):
        accepted.set()
        await ended.wait()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(accept, "localhost", 0)
    yield server.sockets[0].getsockname()[1]
    ended.set()
    server.close()
    await server.wait_closed()


@pytest.mark.asyncio
async def test_a_handshake_that_takes_too_long_was_not_sent(connect, get_item, mute):
    transport = await connect(endpoint_url=f"https://localhost:{mute}", config={"connect_timeout": 0.05})
    with pytest.raises(RequestTimeoutError) as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.NOT_SENT


@pytest.mark.asyncio
async def test_a_request_that_is_cancelled_during_the_handshake_leaves_nothing(connect, get_item, mute, accepted):
    transport = await connect(endpoint_url=f"https://localhost:{mute}")
    before = asyncio.all_tasks()
    task = asyncio.create_task(transport.send(get_item))
    await accepted.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert {each.get_coro().__name__ for each in asyncio.all_tasks() - before} <= {"accept"}


@pytest.mark.asyncio
async def test_an_encrypted_connection_that_ends_while_it_is_idle_is_replaced(
    server, connect, get_item, certificate, server_tls, monkeypatch
):
    await server.stop()
    await server.start(server_tls)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    transport = await connect(endpoint_url=server.url.replace("127.0.0.1", "localhost"))
    for number in (1, 2, 3):
        server.then(then="close")
        assert await transport.send(get_item) == {}
        async with asyncio.timeout(30):
            while server.open_connections:  # noqa: ASYNC110 - only a few turns of the loop
                await asyncio.sleep(0)
        assert server.connections == number


LONE = {"region": "eu-west-1", "credentials": Credentials(access_key_id="AKID", secret_access_key="s")}


@pytest.fixture
def trusted(monkeypatch, certificate):
    """Return a function that opens a transport which says all by itself, so that nothing is looked up."""

    async def open_transport(port):
        monkeypatch.setattr("dynamap_async.transport.lookup.resolve_settings", None)
        monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
        transport = WireTransport(Connection(endpoint_url=f"https://localhost:{port}", **LONE))
        await transport.open()
        return transport

    return open_transport


@pytest.mark.asyncio
async def test_an_encrypted_endpoint_with_credentials_needs_no_look_up(server, get_item, trusted, server_tls):
    await server.stop()
    await server.start(server_tls)
    transport = await trusted(server.url.rpartition(":")[2])
    assert [await transport.send(get_item) for _ in range(3)] == [{}] * 3
    assert server.connections == 1
    await transport.close()


def test_authorities_are_botocores_own_where_nothing_is_configured(monkeypatch):
    assert configured_authorities() == get_cert_path(True)
    monkeypatch.setitem(sys.modules, "certifi", None)
    assert configured_authorities() == DEFAULT_CA_BUNDLE


def test_authorities_are_configured_by_the_environment(monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "requests.pem")
    assert configured_authorities() == "requests.pem"
    monkeypatch.setenv("AWS_CA_BUNDLE", "aws.pem")
    assert configured_authorities() == "aws.pem"


def test_authorities_of_a_profile_are_found_by_aiobotocore(aws_config_file, certificate):
    aws_config_file(f"[default]\nca_bundle = {certificate}\n")
    assert configured_authorities() is None
    connection = Connection(endpoint_url="https://localhost:1", **LONE)
    settings = look_up(connection, DYNAMODB, complete_settings(connection))
    assert len(settings.tls.get_ca_certs()) == 1


def test_authorities_that_cannot_be_read_are_named(monkeypatch):
    monkeypatch.setenv("AWS_CA_BUNDLE", "/no/such.pem")
    connection = Connection(endpoint_url="https://localhost:1", **LONE)
    with pytest.raises(ConfigurationError, match="/no/such.pem"):
        look_up(connection, DYNAMODB, complete_settings(connection))


def names_of(context):
    return {dict(part for [part] in each["subject"])["organizationName"] for each in context.get_ca_certs()}


@pytest.mark.parametrize("bundle", [where(), DEFAULT_CA_BUNDLE], ids=["certifi", "botocore"])
def test_of_the_usual_authorities_a_host_of_aws_gets_first_those_that_vouch_for_aws(monkeypatch, bundle):
    monkeypatch.setenv("AWS_CA_BUNDLE", bundle)
    settings = look_up(Connection(**LONE), DYNAMODB, None)
    assert (names_of(settings.tls), len(settings.tls.get_ca_certs())) == ({"Amazon"}, 4)
    assert settings.wider_tls().get_ca_certs() == tls_context(bundle).get_ca_certs()


def test_any_other_host_gets_all_authorities_at_once():
    connection = Connection(endpoint_url="https://dynamodb.eu-west-1.amazonaws.com.example", **LONE)
    settings = look_up(connection, DYNAMODB, complete_settings(connection))
    assert settings.wider_tls is None
    assert settings.tls.get_ca_certs() == tls_context(get_cert_path(True)).get_ca_certs()


@pytest.mark.parametrize("text", [None, "", "-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n"])
def test_authorities_of_which_none_vouches_for_aws_are_loaded_at_once(monkeypatch, certificate, tmp_path, text):
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    settings = look_up(Connection(**LONE), DYNAMODB, None)
    assert (settings.wider_tls, len(settings.tls.get_ca_certs())) == (None, 1)
    bundle = tmp_path / "bundle.pem"
    if text is not None:
        bundle.write_text(text)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(bundle))
    with pytest.raises(ConfigurationError, match="bundle.pem"):
        look_up(Connection(**LONE), DYNAMODB, None)


@pytest_asyncio.fixture
async def as_aws(server, server_tls, monkeypatch):
    """Return a function that opens a transport to the encrypted server as if that were AWS, with these authorities."""
    await server.stop()
    await server.start(server_tls)
    monkeypatch.setattr("dynamap_async.transport.tls.is_aws_host", lambda name: True)
    async with contextlib.AsyncExitStack() as stack:

        async def open_transport(authorities):
            monkeypatch.setenv("AWS_CA_BUNDLE", str(authorities))
            url = server.url.replace("127.0.0.1", "localhost")
            transport = WireTransport(Connection(endpoint_url=url, **LONE))
            await transport.open()
            stack.push_async_callback(transport.close)
            return transport

        yield open_transport


@pytest.mark.asyncio
async def test_a_host_of_aws_that_others_vouch_for_is_trusted_all_the_same(
    server, get_item, as_aws, certificate, tmp_path, monkeypatch
):
    loaded = []
    monkeypatch.setattr(
        "dynamap_async.transport.tls.tls_context", lambda given: loaded.append(given) or tls_context(given)
    )
    bundle = tmp_path / "bundle.pem"
    bundle.write_text(contents() + certificate.read_text("utf-8"))
    transport = await as_aws(bundle)
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(transport.send(get_item))
    assert await transport.send(get_item) == {}
    assert len(server.requests) == 4
    assert [type(each) for each in loaded].count(bytes) == 1
    assert loaded[1:] == [str(bundle)]


@pytest.mark.asyncio
async def test_a_host_of_aws_that_nobody_vouches_for_is_not_trusted(server, get_item, as_aws):
    transport = await as_aws(where())
    for _ in range(2):
        with pytest.raises(ConnectionFailedError, match="certificate.*AWS_CA_BUNDLE") as raised:
            await transport.send(get_item)
        assert (raised.value.outcome, raised.value.retryable) == (Outcome.NOT_SENT, False)
    assert server.requests == []


@pytest.mark.parametrize("debug", [False, True], ids=["as usual", "debug"])
def test_requests_are_encrypted_on_each_event_loop_and_nothing_is_left(
    loop_factory, debug, get_item, trusted, server_tls, no_aws_environment
):
    async def program():
        async def answer(reader, writer):
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
                while head := (await reader.readuntil(b"\r\n\r\n")).lower():
                    await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

        server = await asyncio.start_server(answer, "localhost", 0, ssl=server_tls)
        transport = await trusted(server.sockets[0].getsockname()[1])
        async with asyncio.TaskGroup() as group:
            for size in (1, 100_000, 1_000_000) * 4:
                group.create_task(transport.send(replace(get_item, body={"text": "x" * size})))
        await transport.close()
        server.close()
        while len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110 - only a few turns of the loop
            await asyncio.sleep(0)

    with asyncio.Runner(loop_factory=loop_factory, debug=debug) as runner:
        runner.run(program())
    gc.collect()
