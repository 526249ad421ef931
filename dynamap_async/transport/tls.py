"""TLS: which certificate authorities are trusted, by botocore's rules but without importing it. Reads files."""

from __future__ import annotations

import os
import ssl
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from dynamap_async.errors import ConfigurationError
from dynamap_async.transport.settings import ConnectionSettings

_FILES: Final = {"AWS_CONFIG_FILE": "~/.aws/config", "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials"}
"""Variable that names a file of AWS's configuration, and where the file is otherwise."""


def tls_context(authorities: str, certificate: str | tuple[str, str] | None = None) -> ssl.SSLContext:
    """Return a context that checks the server's certificate and name.

    Args:
        authorities: path of the certificate authorities to trust.
        certificate: path of our own certificate with its key, or those of both.

    Raises:
        ConfigurationError: a file is missing, or not what it should be; the message names it.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
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

    Raises:
        ConfigurationError: the certificate authorities cannot be read.
    """
    authorities = configured_authorities()
    return None if authorities is None else replace(settings, tls=tls_context(authorities))


def configured_authorities() -> str | None:
    """Return the path of the certificate authorities to trust; None if only botocore can find them.

    That is so where a profile may name them.

    Source: https://docs.aws.amazon.com/sdkref/latest/guide/setting-global-ca_bundle.html
    """
    if named := os.environ.get("AWS_CA_BUNDLE"):
        return named
    for variable, usual in _FILES.items():
        try:
            text = Path(os.environ.get(variable, usual)).expanduser().read_bytes()
        except OSError:
            continue
        if b"ca_bundle" in text:
            return None
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
