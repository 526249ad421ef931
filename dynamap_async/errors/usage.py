"""Errors of the programmer, raised before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence

from dynamap_async.errors.root import DynamapError


class UsageError(DynamapError):
    """The program is wrong. Raised before anything is sent."""


class ModelDefinitionError(UsageError, TypeError):
    """A model class cannot be used as it is written. Raised when the class is created."""

    def __init__(self, message: str, *, model: str, field: str | None = None) -> None:
        super().__init__(message)
        self.model = model
        """Name of the model class."""
        self.field = field
        """Name of the field or index at fault, if one is."""


class UnassignedFieldError(UsageError, AttributeError):
    """A field was read that has no value yet: a session gives it one when the item is written."""

    def __init__(self, message: str, *, model: str, field: str) -> None:
        super().__init__(message)
        self.model = model
        """Name of the model class."""
        self.field = field
        """Name of the field."""


class ExpressionError(UsageError, ValueError):
    """A path, condition or projection means nothing to DynamoDB."""

    def __init__(self, message: str, *, expression: str | None = None) -> None:
        super().__init__(message)
        self.expression = expression
        """The expression as the program wrote it, as far as it is known."""


class OperationError(UsageError, ValueError):
    """An operation asks for something that DynamoDB would refuse."""


class NoIndexError(OperationError):
    """Neither the table nor an index has a key that answers the query."""


class AmbiguousIndexError(OperationError):
    """Several indexes answer the query, each in another order."""

    def __init__(self, message: str, *, indexes: Sequence[str]) -> None:
        super().__init__(message)
        self.indexes: tuple[str, ...] = tuple(indexes)
        """Names of the indexes to choose from."""


class UnprojectedAttributeError(OperationError):
    """A query names an attribute that the index it uses does not hold."""

    def __init__(self, message: str, *, attributes: Sequence[str], index: str) -> None:
        super().__init__(message)
        self.attributes: tuple[str, ...] = tuple(attributes)
        """Stored names of the attributes that are missing from the index."""
        self.index = index
        """Name of the index."""


class CursorError(OperationError):
    """A cursor is damaged, has a wrong signature, or belongs to another query."""


class ConfigurationError(UsageError):
    """A region, credentials, a package or a setting is missing, or cannot work as given."""


class SessionStateError(UsageError, RuntimeError):
    """The session is not open, is used from another event loop, or is not on asyncio."""


class SessionClosedError(SessionStateError):
    """The session was closed before or while the operation waited."""
