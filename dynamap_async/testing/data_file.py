"""The file in which an engine keeps its tables from one run to the next."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from uuid import uuid4

from dynamap_async.errors import ConfigurationError


class DataFile:
    """A file that is read when an engine starts, and written anew when it ends.

    Invariant: the file has all that one engine left, whatever happens while the next one writes.

    Args:
        file: its path; it need not be there, but its folder must.

    Raises:
        ConfigurationError: it is no path.
    """

    def __init__(self, file: str | os.PathLike[str]) -> None:
        if not isinstance(file, (str, os.PathLike)) or not os.fspath(file):
            raise ConfigurationError(f"data={file!r} is not the path of a file; write data='dev.json'")
        self._given = Path(file)
        self._file = self._given
        self._as_read: tuple[int, ...] | None = None

    def load(self, take: Callable[[bytes], None]) -> None:
        """Give what the file has, if it is there.

        Args:
            take: takes its bytes; raises ValueError if they make no sense.

        Raises:
            ConfigurationError: the file cannot be read or written, or is not one that an engine has written.
        """
        self._file = self._given.resolve()  # a link stays one
        if not self._file.parent.is_dir() or not os.access(self._file.parent, os.W_OK):
            raise ConfigurationError(f"data={os.fspath(self._given)!r}: its folder is not there, or not yours to write")
        self._as_read = self._state()
        if self._as_read is None:
            return
        try:
            take(self._file.read_bytes())
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"{self._given} cannot be loaded: {error}; it is left as it is, so name another file, or move it away"
            ) from None

    def save(self, parts: Iterable[bytes]) -> None:
        """Write the file anew: to another name first, which takes its place when all of it is on the disk.

        Args:
            parts: the bytes.

        Raises:
            ConfigurationError: it cannot be written, or another program has changed it since it was read.
        """
        new = self._file.with_name(f"{self._file.name}.{uuid4().hex[:8]}.new")
        try:
            _write(new, parts)
            now = self._state()
            if now not in {None, self._as_read}:
                raise ConfigurationError(
                    f"{self._given} was changed by another program while the engine ran, and is left as it is; what "
                    f"the engine had is in {new}; to go on with that, move it to the place of the first, or name it as "
                    "the data of the next engine"
                )
            if now is not None:
                new.chmod(self._file.stat().st_mode)
            new.replace(self._file)
            _sync_folder(self._file.parent)
        except OSError as error:
            raise ConfigurationError(f"what the engine had cannot be written to {self._given}: {error}") from error

    def _state(self) -> tuple[int, ...] | None:
        """Return what differs when a file has been changed; None if there is none."""
        try:
            found = self._file.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns


def _write(file: Path, parts: Iterable[bytes]) -> None:
    """Write a new file, and wait until it is on the disk."""
    try:
        with file.open("xb") as open_file:
            for part in parts:
                open_file.write(part)
            open_file.flush()
            os.fsync(open_file.fileno())
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk too, where systems can be told."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
