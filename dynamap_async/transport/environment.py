"""What the environment says of a connection, where it holds the keys, as in Lambda and in containers.

botocore finds the same, but takes 200 ms to be imported. So this reads only what it knows in full: a variable that it
does not know, a configuration file or a profile is left to botocore. A law compares the two.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from dynamap_async.config import Credentials
from dynamap_async.service import Service
from dynamap_async.transport.connection import Connection
from dynamap_async.transport.credentials import checked_credentials
from dynamap_async.transport.endpoint import to_endpoint
from dynamap_async.transport.hosts import AwsEndpoints, account_mode
from dynamap_async.transport.settings import REGION, ConnectionSettings, environment_user_agent, may_have_proxy

_READ: Final = frozenset(
    {
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_ACCOUNT_ID"),
        *("AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"),
        *("AWS_USE_DUALSTACK_ENDPOINT", "AWS_USE_FIPS_ENDPOINT", "AWS_CA_BUNDLE", "AWS_ACCOUNT_ID_ENDPOINT_MODE"),
        *("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_EXECUTION_ENV", "AWS_SDK_UA_APP_ID"),
    }
)
"""Variables that are read here, or by ``tls.py`` and ``settings.py``."""

_WITHOUT_EFFECT: Final = frozenset(
    {
        *("AWS_REGION", "AWS_DEFAULT_OUTPUT", "AWS_PAGER", "AWS_SDK_LOAD_CONFIG"),  # which botocore does not read
        # Where credentials are found that stand behind a key in the environment:
        *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
        *("AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
        *("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_EC2_METADATA_DISABLED"),
    }
)
"""Variables that change nothing of what is looked up here, by botocore's rules."""

_WITHOUT_EFFECT_BEGINNINGS: Final = ("AWS_LAMBDA_", "AWS_XRAY_", "AWS_ENDPOINT_URL_")
"""How such variables begin: what Lambda and X-Ray set, and the endpoints of services, of which the service's own is
read."""

_CONFIGURING: Final = ("AWS_", "BOTO")
"""How the variables begin that botocore reads, but for those of proxies and certificates."""

_FILES: Final = {"AWS_CONFIG_FILE": "~/.aws/config", "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials"}
"""Variable that names a file of AWS's configuration, and where the file is otherwise."""


def configuration_files() -> list[Path]:
    """Return the files of AWS's configuration that are there. Looks at the disk."""
    named = (os.path.expandvars(os.environ.get(variable, usual)) for variable, usual in _FILES.items())
    return [file for each in named if (file := Path(os.path.expanduser(each))).is_file()]


def environment_endpoint(service: Service) -> str | None:
    """Return the endpoint of a service that the environment names; None if it names none.

    Args:
        service: the service.
    """
    own = os.environ.get(f"AWS_ENDPOINT_URL_{service.configuration_name.upper()}")
    return own or os.environ.get("AWS_ENDPOINT_URL") or None


def environment_settings(connection: Connection, service: Service) -> ConnectionSettings | None:
    """Return the settings of a connection that leaves nothing to look up but variables of the environment.

    None for any other, which botocore has to look up or refuse. Looks at the disk.

    Args:
        connection: where DynamoDB is, and the credentials to ask it with.
        service: the service that is to be reached.

    Raises:
        ConfigurationError: a variable has a value that cannot be used.
    """
    if connection.profile is not None or connection.aio_session is not None or connection.aio_config is not None:
        return None
    if not all(map(_is_known, os.environ)) or configuration_files():
        return None
    region = connection.region or os.environ.get("AWS_DEFAULT_REGION", "")
    credentials = connection.credentials or _credentials()
    if credentials is None or not re.fullmatch(REGION, region):
        return None
    url = connection.endpoint_url
    if url is None and not _is_true("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"):
        url = environment_endpoint(service)
    if url is not None:
        aws, endpoint = None, to_endpoint(url, region)
    else:
        dual_stack, fips = map(_is_true, ("AWS_USE_DUALSTACK_ENDPOINT", "AWS_USE_FIPS_ENDPOINT"))
        mode = account_mode(os.environ.get("AWS_ACCOUNT_ID_ENDPOINT_MODE"))
        aws = AwsEndpoints(service, region, dual_stack, fips, mode)
        endpoint = aws.shared
    if may_have_proxy(endpoint):
        return None
    return ConnectionSettings(
        endpoint=endpoint,
        aws=aws,
        credentials=checked_credentials(credentials),
        user_agent=environment_user_agent(),
    )


def _is_known(variable: str) -> bool:
    """Return whether it is known here what a variable does, if anything."""
    return (
        not variable.startswith(_CONFIGURING)
        or variable in _READ
        or variable in _WITHOUT_EFFECT
        or variable.startswith(_WITHOUT_EFFECT_BEGINNINGS)
    )


def _is_true(variable: str) -> bool:
    return os.environ.get(variable, "").lower() == "true"


def _credentials() -> Credentials | None:
    """Return the access key of the environment; None if it has none, or half of one."""
    key, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if not key or not secret:
        return None
    return Credentials(
        access_key_id=key,
        secret_access_key=secret,
        session_token=os.environ.get("AWS_SECURITY_TOKEN") or os.environ.get("AWS_SESSION_TOKEN") or None,
        account_id=os.environ.get("AWS_ACCOUNT_ID") or None,
    )
