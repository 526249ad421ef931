"""The error of a value that another item has already."""

from collections.abc import Mapping
from typing import Any

from dynamap_async.errors.service import ServiceError


class UniqueViolationError(ServiceError):
    """Another item of the table has a value that the model declares unique, so nothing was written."""

    constraint: str = ""
    """Name of the class attribute that declares it."""
    model: str = ""
    """Name of the model class."""
    values: Mapping[str, Any] = {}
    """What is taken: field name -> Python value."""
    owner: Mapping[str, Any] | None = None
    """The key of the item that has it: field name -> Python value; None where it is not known."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(self.values)
