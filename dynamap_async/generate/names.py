"""Python names for stored attributes, kinds and tables."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection
from typing import Final

from pydantic import BaseModel

_HIDDEN: Final = frozenset(
    {
        *(name for name in dir(builtins) if name.islower()),
        *("attr", "date", "datetime", "include", "template"),
        *(name for name in (*dir(BaseModel), *dir(type(BaseModel))) if not name.startswith("_")),
    }
    - {"id", "hash", "range", "filter", "max", "min", "sum", "format", "input", "open", "next", "map", "zip", "help"}
)
"""Names that a field cannot have: those of Pydantic, and those that annotations of the same class body use."""
_PROTECTED: Final = ("model_dump", "model_validate")
"""What Pydantic keeps the names of fields from beginning with."""
PUBLIC: Final = (
    *("ALL", "EPOCH_MILLISECONDS", "EPOCH_SECONDS", "KEYS_ONLY", "UNMARKED", "Attr", "Encryption", "GlobalIndex"),
    *("LocalIndex", "Model", "OnDemand", "PartitionKey", "Prefix", "Recovery", "SortKey", "StoredForm", "Table"),
    *("TableSettings", "Throughput", "TimeToLive", "attr", "include", "template"),
)
"""The names of this library that a generated module may import, in the order of its import."""
_TAKEN: Final = frozenset(
    {
        *(*PUBLIC, "Annotated", "Any", "Decimal", "False", "Field", "Literal", "None", "NotRequired", "True"),
        *("TypedDict", "UTC", "UUID"),
    }
)
"""Names that a generated module has already, so that no class of it may have them."""


def words_of(text: str) -> list[str]:
    """Return the words of a name, in lower case: those of ``CustomerID`` are ``customer`` and ``id``."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return [word.lower() for word in re.findall(r"[A-Za-z0-9]+", parted)]


def field_name(text: str, taken: Collection[str]) -> str:
    """Return the name of a field: an identifier that nothing else in the class has."""
    name = "_".join(words_of(text)) or "attribute"
    if name[0].isdigit() or name.startswith(_PROTECTED):
        name = f"attribute_{name}"
    while keyword.iskeyword(name) or name in _HIDDEN or name in taken:
        name += "_"
    return name


def class_name(text: str, taken: Collection[str]) -> str:
    """Return the name of a class: an identifier that no other class of the module has. Singular is not guessed."""
    name = "".join(word[0].upper() + word[1:] for word in words_of(text)) or "Item"
    if name[0].isdigit():
        name = f"Item{name}"
    while keyword.iskeyword(name) or name in _TAKEN or name in taken:
        name += "_"
    return name


def constant_name(text: str) -> str:
    """Return the name of the constant that holds a table."""
    name = "_".join(words_of(text)).upper() or "TABLE"
    if name[0].isdigit() or name in _TAKEN:
        name = f"TABLE_{name}"
    return name


def text_shape(text: str) -> str:
    """Return the shape of a text, with digits as 9 and letters as a, which shows its form but no values."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", text))[:60]
