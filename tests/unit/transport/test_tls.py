import datetime
import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from dynamap_async.errors import ConnectionFailedError, Outcome


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
async def test_client_certificate_is_shown(server, connect, get_item, certificate, server_tls, monkeypatch, parts):
    server_tls.verify_mode = ssl.CERT_REQUIRED
    server_tls.load_verify_locations(certificate)
    await server.stop()
    await server.start(server_tls)
    monkeypatch.setenv("AWS_CA_BUNDLE", str(certificate))
    url = server.url.replace("127.0.0.1", "localhost")
    transport = await connect(endpoint_url=url, config={"client_cert": parts(str(certificate))})
    assert await transport.send(get_item) == {}


@pytest.mark.asyncio
async def test_untrusted_certificate_was_not_sent(server, connect, get_item, server_tls):
    await server.stop()
    await server.start(server_tls)
    transport = await connect(endpoint_url=server.url.replace("127.0.0.1", "localhost"))
    with pytest.raises(ConnectionFailedError, match="certificate") as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.NOT_SENT
    assert server.requests == []
