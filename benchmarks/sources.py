"""Where a library finds an access key by itself: the environment, a profile, or the server of a container."""

import json
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

Source: TypeAlias = Literal["environment", "profile", "container"]

SOURCES: tuple[Source, ...] = ("environment", "profile", "container")

CREDENTIALS_PATH = "/credentials"
"""Where the stub server answers as a container's server of credentials does."""
_KEY, _SECRET = "AKIAEXAMPLE", "secret"


def source_of(name: str) -> Source:
    """Return the place of a name."""
    return next(each for each in SOURCES if each == name)


def container_answer() -> bytes:
    """Return what a container's server of credentials answers."""
    key = {"AccessKeyId": _KEY, "SecretAccessKey": _SECRET, "Token": "token", "Expiration": "2099-01-01T00:00:00Z"}
    return json.dumps(key).encode()


@contextmanager
def key_in(source: Source, endpoint: str) -> Generator[None]:
    """Let an access key be found in one place and no other, for this process and those that it starts.

    Args:
        source: the place.
        endpoint: the address of the stub server.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in [*os.environ]:
            if name.startswith("AWS_"):
                del os.environ[name]
        os.environ.update(HOME=folder, AWS_DEFAULT_REGION="eu-west-1", AWS_REGION="eu-west-1")
        if source == "environment":
            os.environ.update(AWS_ACCESS_KEY_ID=_KEY, AWS_SECRET_ACCESS_KEY=_SECRET)
        elif source == "profile":
            profile = Path(folder, ".aws", "credentials")
            profile.parent.mkdir()
            profile.write_text(f"[default]\naws_access_key_id = {_KEY}\naws_secret_access_key = {_SECRET}\n", "utf-8")
        else:
            os.environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = f"{endpoint}{CREDENTIALS_PATH}"
        yield
