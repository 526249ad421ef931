"""Class-level settings of a model, and the faults of a class body that show before Pydantic reads it."""

import difflib
import re
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from dynamap_async.errors import ModelDefinitionError
from dynamap_async.limits import TABLE_NAME_MAX, TABLE_NAME_MIN
from dynamap_async.schema import Throughput

SETTINGS: Final = "__dynamap_settings__"
"""The class attribute that holds a model's Settings."""

INDEXES: Final = "__dynamap_indexes__"
"""The class attribute that holds the index declarations of one class body, by attribute name."""

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_RESERVED: Final = frozenset(name for name in dir(BaseModel) if not name.startswith("_"))


@dataclass(frozen=True, slots=True)
class Settings:
    """What the class statement says."""

    table: str | None
    """The table's name, before the session's prefix; None for documents and abstract bases."""
    abstract: bool
    throughput: Throughput | None

    @classmethod
    def of(cls, model: type[Any], *, table: str | None, abstract: bool, throughput: Throughput | None) -> "Settings":
        """Return the settings of a class: its own, completed by its bases' (``abstract`` is not inherited)."""
        inherited = [base.__dict__[SETTINGS] for base in model.__mro__[1:] if SETTINGS in base.__dict__]
        for settings in inherited:
            table = table if table is not None else settings.table
            throughput = throughput or settings.throughput
        return cls(table, abstract, throughput)


def check_name(name: str, what: str, *, model: str, field: str | None = None) -> None:
    """Raise ModelDefinitionError unless DynamoDB accepts the name of a table or index.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
    """
    if not (TABLE_NAME_MIN <= len(name) <= TABLE_NAME_MAX and _NAME.fullmatch(name)):
        raise ModelDefinitionError(
            f"{model}: {what} {name!r} is not allowed; DynamoDB takes {TABLE_NAME_MIN} to {TABLE_NAME_MAX} "
            "characters of a-z A-Z 0-9 _ - .",
            model=model,
            field=field,
        )


def check_class_body(
    name: str,
    bases: tuple[type[Any], ...],
    namespace: dict[str, Any],
    *,
    table: object,
    abstract: bool,
    throughput: object,
) -> None:
    """Raise ModelDefinitionError for faults of the class statement and for field names that can never work."""
    if table is not None and not isinstance(table, str):
        raise ModelDefinitionError(f"{name}: table={table!r} is not a table name; write table=\"tweets\"", model=name)
    if table is not None and abstract:
        raise ModelDefinitionError(
            f"{name} is abstract and names the table {table!r}; an abstract model has none: drop one of the two",
            model=name,
        )
    if table is not None:
        check_name(table, "table name", model=name)
    if throughput is not None and not isinstance(throughput, Throughput):
        raise ModelDefinitionError(
            f"{name}: throughput={throughput!r} is not a Throughput; write Throughput(read=10, write=2)", model=name
        )
    for field in namespace.get("__annotations__", {}):
        if field in _RESERVED and field not in ("model_config",) and bases:
            raise ModelDefinitionError(
                f"{name}.{field}: {field!r} is a name of Pydantic's BaseModel, so {name}.{field} could never be an "
                f"expression; name the field otherwise and store it as attr(name={field!r})",
                model=name,
                field=field,
            )


def refuse_unknown_keywords(name: str, bases: tuple[type[Any], ...], keywords: dict[str, Any]) -> None:
    """Raise ModelDefinitionError for a class keyword that means nothing here or to Pydantic."""
    known = {*ConfigDict.__annotations__, "table", "abstract", "throughput"}
    own_hook = any("__init_subclass__" in k.__dict__ for b in bases for k in b.__mro__ if k not in (BaseModel, object))
    for keyword in keywords:
        if keyword in known or keyword.startswith("_") or own_hook:
            continue
        close = difflib.get_close_matches(keyword, known, 1)
        hint = f"; did you mean {close[0]}?" if close else f"; known are {', '.join(sorted(known))}"
        raise ModelDefinitionError(f"class {name}(..., {keyword}=...): unknown class keyword{hint}", model=name)
