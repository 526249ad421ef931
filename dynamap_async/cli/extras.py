"""Which packages the command line needs beyond the library's own, and how to get them."""

from typing import Final

INSTALL: Final = "pip install 'dynamap-async[cli]'"
"""Installs everything that ``dynamap`` can use."""


class MissingExtraError(Exception):
    """The package of an extra is not installed. The text is one line, with the remedy."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not installed: {INSTALL}")

    @classmethod
    def of(cls, error: ModuleNotFoundError) -> "MissingExtraError":
        """Return the error for a failed import.

        Raises:
            ModuleNotFoundError: a module of this library is missing, which no extra brings.
        """
        package = (error.name or "").partition(".")[0]
        if package == "dynamap_async":
            raise error
        return cls(f"dynamap needs the package {package!r}, which")
