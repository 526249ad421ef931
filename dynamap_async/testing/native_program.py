"""The program of the native engine, dynoxide: where it is, and how it gets there. It is not part of this library.

It comes from the npm registry, over HTTPS and without Node. What was downloaded is used only if its hash is the one
that stands here.
"""

import hashlib
import io
import os
import platform
import re
import sys
import tarfile
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from pathlib import Path
from tempfile import mkstemp
from typing import IO, Final, cast

from dynamap_async.errors import ConfigurationError

EXECUTABLE: Final = "DYNAMAP_NATIVE_ENGINE"
"""The environment variable with the path of the native engine's program."""

VERSION: Final = "1.2.1"
"""The version of dynoxide that is installed."""

HASHES: Final[Mapping[str, str]] = {
    "linux-x64": "sBHqlxJ9ANkLluFkYRfd5r8Y0ApFew4FhOrlhgRAgD4XzEoFOukEo1nuBTQ1+jTtofqwn4NWQ2k0Tn5mNTjgUg==",
}
"""Platform, as npm names it -> SHA-512 of the package for it, in base64 as npm shows it."""

_SCOPE: Final = "@dynoxide"
_REGISTRY: Final = "https://registry.npmjs.org"
_SYSTEMS: Final = {"Linux": "linux", "Darwin": "darwin", "Windows": "win32"}
_MACHINES: Final = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
_TIMEOUT_SECONDS: Final = 30.0
_MOST_BYTES: Final = 64 * 2**20
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
_BY_HAND: Final = f"get dynoxide in another way and set {EXECUTABLE} to its path, or use the engine in the process"


def find_program() -> Path | None:
    """Return the native engine's program: the one that the environment names, otherwise the installed one."""
    named = os.environ.get(EXECUTABLE)
    if named:
        return Path(named)
    installed = installed_program()
    return installed if os.access(installed, os.X_OK) else None


def installed_program() -> Path:
    """Return the path at which the program is, or would be, installed: in a folder of this user's cache."""
    name = "dynoxide.exe" if sys.platform == "win32" else "dynoxide"
    return _cache_folder() / "dynamap" / f"dynoxide-{VERSION}" / name


def install_program() -> Path:
    """Download the native engine's program, and return its path. Blocks.

    Raises:
        ConfigurationError: there is none for this platform, the registry cannot be reached or does not have it, or what
            it has is not what is expected.
    """
    system, machine = platform.system(), platform.machine()
    name = f"{_SYSTEMS.get(system, system)}-{_MACHINES.get(machine.lower(), machine)}"
    if name not in HASHES:
        raise ConfigurationError(
            f"there is no package of the native engine for {system} {machine}, only for {', '.join(HASHES)}: {_BY_HAND}"
        )
    url = f"{npm_registry()}/{_SCOPE}/{name}/-/{name}-{VERSION}.tgz"
    package = _downloaded(url)
    found = b64encode(hashlib.sha512(package).digest()).decode()
    if found != HASHES[name]:
        raise ConfigurationError(
            f"{url} is not the expected file: its SHA-512 is {found} instead of {HASHES[name]}. Nothing was installed"
        )
    program = installed_program()
    _put(_program_in(package), program)
    return program


def npm_registry() -> str:
    """Return the address of the registry that npm would take the package from, without a slash at its end.

    Like npm: what is set for the scope comes before what is set for all packages; a variable of the environment before
    the project's ``.npmrc``, that one before the user's.
    """
    given = {key.lower(): value for key, value in os.environ.items() if key.lower().startswith("npm_config_")}
    own = Path(given.get("npm_config_userconfig") or Path.home() / ".npmrc")
    layers = [
        {key.removeprefix("npm_config_"): value for key, value in given.items()},
        *(dict(_settings_in(file)) for file in (Path.cwd() / ".npmrc", own)),
    ]
    for key in (f"{_SCOPE}:registry", "registry"):
        for layer in layers:
            if layer.get(key):
                return layer[key].rstrip("/")
    return _REGISTRY


def _settings_in(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the settings of an ``.npmrc``; none if it cannot be read."""
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return
    for line in text.splitlines():
        key, found, value = line.partition("=")
        if found and not key.lstrip().startswith(("#", ";")):
            plain = value.strip().strip("\"'")
            yield key.strip(), _VARIABLE.sub(lambda each: os.environ.get(each[1], each[0]), plain)


def _downloaded(url: str) -> bytes:
    if not url.startswith(("https://", "http://")):
        raise ConfigurationError(
            f"npm's registry {url!r} is not an address; set NPM_CONFIG_REGISTRY, or .npmrc, to one"
        )
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 - it is HTTP, see above
            content: bytes = answer.read(_MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        with error:
            raise ConfigurationError(f"{url} returned {error.code} {error.reason}: {_BY_HAND}") from error
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise ConfigurationError(
            f"{url} could not be downloaded ({reason}): check the network, HTTPS_PROXY and npm's registry, "
            f"or {_BY_HAND}"
        ) from error
    if len(content) > _MOST_BYTES:
        raise ConfigurationError(f"{url} has more than {_MOST_BYTES:,} bytes; nothing was installed")
    return content


def _program_in(package: bytes) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(package), mode="r:gz") as archive:
        member = next(each for each in archive if each.isfile() and Path(each.name).stem == "dynoxide")
        return cast("IO[bytes]", archive.extractfile(member)).read()


def _put(content: bytes, program: Path) -> None:
    """Write a program in one step, so that nobody finds a part of it, also if two install it at once."""
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        handle, name = mkstemp(dir=program.parent)
        try:
            with open(handle, "wb") as file:
                file.write(content)
            Path(name).chmod(0o755)
            Path(name).replace(program)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigurationError(
            f"the native engine cannot be written to {program.parent}: {error.strerror}; XDG_CACHE_HOME can name "
            "another folder"
        ) from error


def _cache_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    named = os.environ.get("XDG_CACHE_HOME")
    if named and Path(named).is_absolute():
        return Path(named)
    return Path.home() / "Library" / "Caches" if sys.platform == "darwin" else Path.home() / ".cache"
