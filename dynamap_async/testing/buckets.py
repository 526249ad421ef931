"""Folders that stand for buckets of S3."""

import os
from collections.abc import Mapping
from pathlib import Path

from dynamap_async.errors import ConfigurationError


class Buckets:
    """Folders that stand for buckets of S3: what ``LocalEngine`` exports to, and imports from.

    An object is a file in its bucket's folder, at the path that its key says.

    Args:
        folders: name of a bucket -> its folder, which is made if it is not there.

    Raises:
        ConfigurationError: what is given are no folders.
    """

    def __init__(self, folders: Mapping[str, str | os.PathLike[str]]) -> None:
        if not isinstance(folders, Mapping):
            raise ConfigurationError(f"{folders!r} names no buckets; write {{'backup': 'folder'}}")
        for name, folder in folders.items():
            if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
                raise ConfigurationError(f"the bucket {name!r} has no folder: {folder!r}; write {{{name!r}: 'folder'}}")
        self._folders = {name: Path(folder) for name, folder in folders.items()}

    def has(self, bucket: str) -> bool:
        """Return whether there is such a bucket.

        Args:
            bucket: its name.
        """
        return bucket in self._folders

    def keys(self, bucket: str, prefix: str) -> list[str]:
        """Return the keys of the objects that begin with a prefix, in order.

        Args:
            bucket: its name.
            prefix: what they begin with.
        """
        folder = self._folders[bucket]
        found = (file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
        return sorted((key for key in found if key.startswith(prefix)), key=str.encode)

    def read(self, bucket: str, key: str) -> bytes:
        """Return what an object has.

        Args:
            bucket: its name.
            key: the object's key.
        """
        return self._file(bucket, key).read_bytes()

    def write(self, bucket: str, key: str, content: bytes) -> None:
        """Store an object.

        Args:
            bucket: its name.
            key: the object's key.
            content: its bytes.
        """
        file = self._file(bucket, key)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    def _file(self, bucket: str, key: str) -> Path:
        folder = self._folders[bucket].resolve()
        file = folder.joinpath(key).resolve()
        if not file.is_relative_to(folder):  # a key such as ../x
            raise PermissionError(f"the key {key!r} leads out of the folder of the bucket {bucket!r}")
        return file
