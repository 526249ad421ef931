"""TLS: which certificate authorities are trusted, by botocore's rules but without importing it. Reads files."""

from __future__ import annotations

import os
import ssl
from binascii import a2b_base64
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from dynamap_async.errors import ConfigurationError
from dynamap_async.transport.environment import configuration_files
from dynamap_async.transport.hosts import is_aws_host
from dynamap_async.transport.settings import ConnectionSettings

_OF_AWS: Final = b"Amazon Root CA"
"""What the names of the authorities begin with that vouch for AWS's hosts.

Source: https://www.amazontrust.com/repository/
"""


def tls_context(authorities: str | bytes, certificate: str | tuple[str, str] | None = None) -> ssl.SSLContext:
    """Return a context that checks the server's certificate and name.

    Args:
        authorities: path of the certificate authorities to trust, or their certificates.
        certificate: path of our own certificate with its key, or those of both.

    Raises:
        ConfigurationError: a file is missing, or not what it should be; the message names it.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if isinstance(authorities, bytes):
            context.load_verify_locations(cadata=authorities)
        else:
            context.load_verify_locations(authorities)
    except OSError as error:
        raise ConfigurationError(
            f"the certificate authorities {authorities!r} cannot be used: {error}; check AWS_CA_BUNDLE, "
            "REQUESTS_CA_BUNDLE and the profile's ca_bundle"
        ) from error
    try:
        if isinstance(certificate, str):
            context.load_cert_chain(certificate)
        elif certificate:
            context.load_cert_chain(*certificate)
    except OSError as error:
        raise ConfigurationError(
            f"the client certificate {certificate!r} cannot be used: {error}; check AioConfig(client_cert=...)"
        ) from error
    return context


def encrypted(settings: ConnectionSettings) -> ConnectionSettings | None:
    """Return the settings with a TLS context; None if a profile may name the certificate authorities.

    To load all authorities takes 20 ms, and a host of AWS needs one of four. So the others are loaded only if it shows
    a certificate of somebody else's.

    Raises:
        ConfigurationError: the certificate authorities cannot be read.
    """
    authorities = configured_authorities()
    if authorities is None:
        return None
    few = _those_of_aws(authorities) if is_aws_host(settings.endpoint.name) else b""
    if not few:
        return replace(settings, tls=tls_context(authorities))
    return replace(settings, tls=tls_context(few), wider_tls=partial(tls_context, authorities))


def _those_of_aws(authorities: str) -> bytes:
    """Return the certificates in a file that are AWS's own."""
    try:
        _comment, *certificates = Path(authorities).read_bytes().split(b"-----BEGIN CERTIFICATE-----")
        decoded = [a2b_base64(each.partition(b"-----END CERTIFICATE-----")[0]) for each in certificates]
    except (OSError, ValueError):  # as whoever loads all of it will say
        return b""
    return b"".join(each for each in decoded if _OF_AWS in each)


def configured_authorities() -> str | None:
    """Return the path of the certificate authorities to trust; None if only botocore can find them.

    That is so where a profile may name them.

    Source: https://docs.aws.amazon.com/sdkref/latest/guide/setting-global-ca_bundle.html
    """
    if named := os.environ.get("AWS_CA_BUNDLE"):
        return named
    for file in configuration_files():
        try:
            if b"ca_bundle" in file.read_bytes():
                return None
        except OSError:
            continue
    return os.environ.get("REQUESTS_CA_BUNDLE") or _default_authorities()


def _default_authorities() -> str | None:
    """Return the path of the list that botocore trusts: certifi's if that is installed, else its own."""
    try:
        from certifi import where  # no dependency of ours
    except ImportError:
        package = find_spec("botocore")
        own = None if package is None or package.origin is None else Path(package.origin).with_name("cacert.pem")
        return str(own) if own is not None and own.exists() else None
    return where()
