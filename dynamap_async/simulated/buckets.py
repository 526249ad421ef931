"""What exports, imports and bulk puts need of S3: buckets with objects, whatever they are kept in."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, Protocol

from dynamap_async.simulated.constraints import Structure, choice, text
from dynamap_async.simulated.errors import Refused, invalid
from dynamap_async.simulated.jobs import Failed

BUCKET = text(0, 255, r"[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+")
OWNER = text(0, None, r"[0-9]{12}")
PREFIX = text(0, 1024)
ENCRYPTION = choice("AES256", "KMS")
KMS_KEY = text(1, 2048)
COMPRESSION = choice("GZIP", "ZSTD", "NONE")
TOKEN = text(0, None, r"[^\$]+")
SOURCE = Structure({"S3BucketOwner": OWNER, "S3Bucket!": BUCKET, "S3KeyPrefix": PREFIX})


class Buckets(Protocol):
    """The buckets that a service can reach."""

    def has(self, bucket: str) -> bool:
        """Return whether there is such a bucket."""
        ...

    def keys(self, bucket: str, prefix: str) -> list[str]:
        """Return the keys of the objects that begin with a prefix, in order."""
        ...

    def read(self, bucket: str, key: str) -> bytes:
        """Return what an object has."""
        ...

    def write(self, bucket: str, key: str, content: bytes) -> None:
        """Store an object."""
        ...


class Unreadable(Exception):  # noqa: N818 - the rest of an object is left out
    """An object is not compressed as the request says."""


def refuse_ion(kind: str | None) -> None:
    """Refuse Amazon Ion, which this engine neither reads nor writes.

    Raises:
        Refused: it is wanted.
    """
    if kind == "ION":
        raise invalid("the simulated DynamoDB does not know the format ION; ask for DYNAMODB_JSON")


def decompressor(kind: str) -> Callable[[bytes], bytes]:
    """Return what decompresses objects.

    Args:
        kind: NONE, GZIP or ZSTD.

    Raises:
        Refused: no package is there that knows it.
    """
    if kind == "NONE":
        return bytes
    if kind == "GZIP":  # of which a file may have several members
        return partial(_decompressed, gzip.decompress, (gzip.BadGzipFile, EOFError, zlib.error))
    for name in ("compression.zstd", "backports.zstd"):
        try:
            zstd: Any = import_module(name)
        except ImportError:
            continue
        return partial(_decompressed, zstd.decompress, (zstd.ZstdError, EOFError))
    raise invalid("the simulated DynamoDB needs Python 3.14, or the package backports.zstd, to read ZSTD")


def _decompressed(
    decompress: Callable[[bytes], bytes], faults: tuple[type[Exception], ...], compressed: bytes
) -> bytes:
    try:
        return decompress(compressed)
    except faults as error:
        raise Unreadable(str(error)) from None


def content(buckets: Buckets, bucket: str, key: str, decompress: Callable[[bytes], bytes]) -> bytes:
    """Return what an object has, without a byte order mark.

    Raises:
        Unreadable: it is not compressed in this way.
    """
    return decompress(buckets.read(bucket, key)).removeprefix(b"\xef\xbb\xbf")


def lines(found: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not empty, with their numbers."""
    for number, line in enumerate(found.split(b"\n"), 1):
        if line.strip():
            yield number, line


def source_keys(buckets: Buckets, bucket: str, prefix: str) -> list[str]:
    """Return the keys of the objects to read.

    Raises:
        Failed: there is no such bucket, or nothing in it begins with the prefix.
    """
    refuse_missing(buckets, bucket)
    found = buckets.keys(bucket, prefix)
    if not found:
        raise Failed("S3NoSuchKey", f"No objects found in bucket {bucket} with the prefix '{prefix}'")
    return found


def refuse_missing(buckets: Buckets, bucket: str) -> None:
    """Refuse a bucket that is not there.

    Raises:
        Failed: it is not.
    """
    if not buckets.has(bucket):
        raise Failed("S3NoSuchBucket", f"The specified bucket does not exist: {bucket}")


def joined(prefix: str | None, *parts: str) -> str:
    """Return the key of an object below a prefix."""
    return "/".join((*([prefix.rstrip("/")] if prefix and prefix.rstrip("/") else []), *parts))


def reachable(buckets: Buckets | None) -> Buckets:
    """Return the buckets of a service.

    Raises:
        Refused: it has none.
    """
    if buckets is None:
        raise Refused(
            "ValidationException",
            "the simulated DynamoDB has no buckets; name their folders, such as "
            "LocalEngine(buckets={'backup': 'folder'})",
        )
    return buckets
