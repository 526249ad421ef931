"""Computing: the instances of a model with templates get their keys when they are made and when a part changes.

Models without templates pay nothing for it: what is done here is added to the classes that have need of it.
"""

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, Final

from pydantic import BaseModel, model_validator
from pydantic.fields import FieldInfo

from dynamap_async.errors import OperationError
from dynamap_async.models.assigned import UNASSIGNED
from dynamap_async.models.computed import Computed, declared_template

COMPUTES: Final = "__dynamap_computes__"
"""The name of the validator that computes."""

_reading = threading.local()


@contextmanager
def reading() -> Generator[None]:
    """Take the keys of instances that are made as they are stored, whatever their parts say."""
    _reading.depth = getattr(_reading, "depth", 0) + 1
    try:
        yield
    finally:
        _reading.depth -= 1


def has_templates(namespace: Mapping[str, Any]) -> bool:
    """Return whether a class body has a field with a template."""
    return any(isinstance(each, FieldInfo) and declared_template(each) is not None for each in namespace.values())


def validator_of(namespace: Mapping[str, Any], computed_of: Callable[[type[Any]], Computed | None]) -> dict[str, Any]:
    """Return the validator, by attribute name, that computes the keys of a class body with templates.

    Args:
        namespace: the class body.
        computed_of: model -> its computed keys.
    """
    if not has_templates(namespace):
        return {}

    def compute(item: Any) -> Any:
        computed = computed_of(item.__class__)
        if computed is not None:
            complete(item, computed, keep=getattr(_reading, "depth", 0) > 0)
        return item

    return {COMPUTES: model_validator(mode="after")(compute)}


def complete(item: BaseModel, computed: Computed, *, keep: bool) -> None:
    """Give an instance the computed keys that it does not have, and judge those that it was given.

    Args:
        item: a new instance.
        computed: the model's computed keys.
        keep: whether the keys that it was given stand, as those of stored items do.

    Raises:
        OperationError: it was given another key than its parts make.
        EncodeError: a value does not fit into a key.
    """
    values, given = vars(item), item.__pydantic_fields_set__
    for name in computed.templates:
        held = values.get(name, UNASSIGNED)
        if held is not UNASSIGNED and (keep or name not in given):
            given.discard(name)
            continue
        made = computed.built(name, values)
        if held is not UNASSIGNED and made is not UNASSIGNED and held != made:
            raise _not_given(computed, name, held, made)
        given.discard(name)
        if made is not UNASSIGNED:
            values[name] = made
        elif held is UNASSIGNED:
            values.pop(name, None)


def install(cls: type[Any], namespace: Mapping[str, Any], computed_of: Callable[[type[Any]], Computed | None]) -> None:
    """Let a class with templates compute its keys again when a part is assigned, or a copy gets another value.

    Args:
        cls: the class; what it says of assignment and copying itself stays. One without templates stays as it is.
        namespace: its body.
        computed_of: model -> its computed keys.
    """
    if not has_templates(namespace):
        return
    methods: Any = cls
    assign: Callable[[Any, str, Any], None] = methods.__setattr__
    copy: Callable[..., Any] = methods.model_copy

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807 - it becomes the class's own
        computed, values = computed_of(self.__class__), _values(self)
        # Whatever validates the whole item again is not to judge the keys before they are computed.
        kept = reading() if self.model_config.get("validate_assignment") else nullcontext()
        if computed is None or not (name in computed.of_part or name in computed.templates):
            with kept:
                assign(self, name, value)
        elif name in computed.templates:
            if value != values.get(name, UNASSIGNED):
                raise _not_given(computed, name, value, values.get(name))
        else:
            with kept:
                _assigned(self, computed, name, partial(assign, self, name, value))

    def model_copy(self: Any, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Any:
        computed = computed_of(self.__class__)
        copied = copy(self, update=update, deep=deep)
        if update and computed is not None:
            _updated(self, copied, computed, update)
        return copied

    type.__setattr__(cls, "__setattr__", __setattr__)
    type.__setattr__(cls, "model_copy", model_copy)


def _values(item: Any) -> dict[str, Any]:
    values: dict[str, Any] = item.__dict__
    return values


def _assigned(item: BaseModel, computed: Computed, name: str, assign: Callable[[], None]) -> None:
    values = vars(item)
    before = values.get(name, UNASSIGNED)
    assign()
    values = vars(item)  # with validate_assignment it is another one
    if values.get(name, UNASSIGNED) == before:
        return
    try:
        values.update(computed.after(values, (name,)))
    except BaseException:
        if before is UNASSIGNED:
            values.pop(name, None)
        else:
            values[name] = before
        raise


def _updated(before: BaseModel, copied: BaseModel, computed: Computed, update: Mapping[str, Any]) -> None:
    old, values = vars(before), vars(copied)
    changed = [name for name in update if name in computed.of_part and old.get(name, UNASSIGNED) != update[name]]
    made = {**{name: old.get(name) for name in computed.templates if name in update}, **computed.after(values, changed)}
    for name, text in made.items():
        if name in update and update[name] != text:
            raise _not_given(computed, name, update[name], text)
    values.update(made)
    copied.__pydantic_fields_set__.difference_update(computed.templates)


def _not_given(computed: Computed, name: str, given: object, made: object) -> OperationError:
    found = computed.templates[name]
    parts = ", ".join(found.names) or "nothing: it is constant"
    return OperationError(
        f"{computed.model}.{name} is computed from {parts}; here it is {made!r}, not {given!r}: set its parts, and "
        "leave the key out"
    )
