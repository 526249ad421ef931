"""``Model``: a plain Pydantic model whose class attributes are field expressions. It does no I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar, Unpack, dataclass_transform

from pydantic import BaseModel, Field, PrivateAttr
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

from dynamap_async import codec
from dynamap_async.errors import ModelDefinitionError, OperationError, UnassignedFieldError
from dynamap_async.errors.habits import MODEL_NAMES, no_attribute
from dynamap_async.models.assigned import COMPUTES, UNASSIGNED, assigned_of, validators_of, without_stand_ins
from dynamap_async.models.callers import caller_names
from dynamap_async.models.class_keywords import ModelKeywords, split_keywords
from dynamap_async.models.converters import IncompleteModelError
from dynamap_async.models.definition import Definition, define
from dynamap_async.models.indexes import IndexDeclaration
from dynamap_async.models.instances import keep_hash
from dynamap_async.models.items import ItemCodec
from dynamap_async.models.keys.computed import Computed, ThreadDepth, complete, install, validator_of
from dynamap_async.models.markers import (
    BareMarkerError,
    HiddenTypeError,
    as_pydantic_knows,
    attr,
    declared_template,
    hidden_type,
    template,
)
from dynamap_async.models.same_table import warn_of_same_table
from dynamap_async.models.settings import (
    INDEXES,
    SETTINGS,
    Settings,
    check_keywords,
    check_names,
    check_table,
    checked_distinct,
)
from dynamap_async.models.sharing.membership import check_sharing, join
from dynamap_async.models.sharing.table import Table
from dynamap_async.models.state import (
    SLOTS,
    STATE,
    UNVALIDATED,
    dumped_state,
    hand_over,
    mark_assigned,
    mark_unvalidated,
    restore,
)
from dynamap_async.models.uniques import Unique
from dynamap_async.wire import WireItem

if TYPE_CHECKING:
    from pydantic import ConfigDict
    from pydantic._internal._model_construction import ModelMetaclass as PydanticMeta

    from dynamap_async.expressions import Exactly
else:
    PydanticMeta = type(BaseModel)

ModelT = TypeVar("ModelT", bound="Model")

_BUILDING: Final = ThreadDepth()
"""Inside of it class access to fields is silent: Pydantic asks the bases for attributes while it collects fields.

An answer would become a field's default, or a warning that the field "shadows an attribute in parent"."""


def definition_of(model: type[ModelT]) -> Definition[ModelT]:
    """Return what a model class means to DynamoDB, worked out once per class.

    Raises:
        ModelDefinitionError: the class is wrong, or names a type that does not exist yet.
        OperationError: it is no model.
    """
    try:
        found: Definition[ModelT] | None = model.__dict__.get("__dynamap_definition__")
    except AttributeError:  # it is no class
        found = None
    if found is None:
        given: object = model  # whatever the checkers say, a program may pass anything
        if not isinstance(given, ModelMeta):
            if isinstance(given, type) and issubclass(given, ModelMeta):
                raise OperationError("a model class stands where an item does; give an instance, such as Tweet(...)")
            raise no_model(given)
        if not model.__dict__.get("__pydantic_complete__"):
            _complete(model)
        try:
            found = define(model, _codec_of, _as_read)
        except IncompleteModelError as error:
            raise _unknown_type(error.model, "in a field of it") from error
        type.__setattr__(model, "__dynamap_definition__", found)
        warn_of_same_table(found)
    return found


def no_model(given: object) -> OperationError:
    """Return the error of something else in the place of a model.

    Args:
        given: what stands there.
    """
    if not isinstance(given, Table):
        spelled = given.__name__ if isinstance(given, type) else repr(given)
        return OperationError(f'{spelled} is not a model; write class Tweet(Model, table="tweets")')
    names = list(dict.fromkeys(model.__name__ for model in given.models.values()))
    if not names:
        return OperationError(f"{given!r} is a Table, and no model shares it yet; import the module that defines them")
    if len(names) == 1:
        return OperationError(f"{given!r} is a Table, which stands for no model; write its model, {names[0]}")
    several = ", ".join(names)
    return OperationError(
        f"{given!r} is a Table, which stands for no model; write one of its models, {' or '.join(names)}; query and "
        f"scan take several, as in query({several})"
    )


def _computed_of(model: type[Any]) -> Computed | None:
    return definition_of(model).computed


def _codec_of(model: type[Any]) -> ItemCodec[Any]:
    return definition_of(model).items


def _as_read(item: BaseModel) -> Callable[[str], Mapping[str, str]]:
    from dynamap_async.models.stored_values import zoneless_as_read  # for times without a zone only

    return zoneless_as_read(item, definition_of(type(item)))


def _complete(model: type[Any]) -> None:
    try:
        with _BUILDING.entered():
            model.model_rebuild(_types_namespace=caller_names())
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise _unknown_type(model, error.message.splitlines()[0]) from error


def _unknown_type(model: type[Any], where: str) -> ModelDefinitionError:
    name = model.__name__
    return ModelDefinitionError(
        f"{name} names a type that is not defined yet ({where}); define the type, then call {name}.model_rebuild()",
        model=name,
    )


def _settle(cls: type[Any], bases: tuple[type[Any], ...], declared: dict[str, Any], keywords: dict[str, Any]) -> None:
    """Give a new class what stands beside its fields, work out what it means, and make it known to its table."""
    for key, each in declared.items():
        each.__set_name__(cls, key)
        type.__setattr__(cls, key, each)
    type.__setattr__(cls, INDEXES, declared)
    # A generic model with its types filled in is the model that it is made of.
    generic: dict[str, Any] = cls.__dict__.get("__pydantic_generic_metadata__") or {}
    own = generic.get("origin") is None
    if own:
        type.__setattr__(cls, SETTINGS, Settings.of(cls, keywords))
        check_sharing(cls)
    if bases != (BaseModel,) and cls.__dict__.get("__pydantic_complete__"):
        # Two models may name each other: the one that stands first is incomplete until it is used.
        with suppress(IncompleteModelError):
            type.__setattr__(cls, "__dynamap_definition__", define(cls, _codec_of, _as_read))
    if own:
        join(cls, _codec_of)
        if (made := cls.__dict__.get("__dynamap_definition__")) is not None:
            warn_of_same_table(made)
    if keywords.get("abstract"):
        # ABCMeta's own mark: object.__new__ looks at it in C, and subclasses work out their own.
        type.__setattr__(cls, "__abstractmethods__", frozenset(("table",)))


def _super_attribute(above: Any, model: type[Model], name: str) -> Any:
    """Return what Pydantic has of a name; of one that there is not the error says what to write."""
    try:
        return above.__getattr__(name)
    except AttributeError:
        known = model.__dict__.get("__pydantic_fields__")
        if known is None or name in known or name.startswith("_"):
            raise
        names = [*known, *getattr(model, INDEXES, ())]
        fields = f"; its fields are {', '.join(known)}" if known else ""
        raise no_attribute(model.__name__, name, MODEL_NAMES, names, model=model.__name__, otherwise=fields) from None


@dataclass_transform(kw_only_default=True, field_specifiers=(attr, template, Field, PrivateAttr))
class ModelMeta(PydanticMeta):
    """Builds the Pydantic model, keeps indexes out of its sight, and answers class access to fields."""

    def __new__(
        mcs, name: str, bases: tuple[type[Any], ...], namespace: dict[str, Any], *args: Any, **keywords: Any
    ) -> Any:
        """Create a model class.

        Args:
            name: the class's name.
            bases: its base classes.
            namespace: its body.
            args: what Pydantic passes for generic models.
            keywords: those of ``ModelKeywords``, and what a base with a hook of its own takes.
        """
        given, others = split_keywords(name, bases, keywords)
        check_keywords(name, given)
        if not isinstance(given.get("table"), Table):
            check_table(name, given.get("table"), abstract=given.get("abstract", False))
        given["distinct_from"] = checked_distinct(name, given.get("distinct_from", ()))
        for value in namespace.values():
            as_pydantic_knows(value)
        beside = (IndexDeclaration, Unique)
        declared = {key: namespace.pop(key) for key in list(namespace) if isinstance(namespace[key], beside)}
        check_names(name, bases, namespace, declared)
        # First, so that the model's own validators of whole items find the keys.
        namespace = {**validator_of(namespace, _computed_of), **namespace, **validators_of(namespace)}
        try:
            with _BUILDING.entered():
                cls: type[Any] = super().__new__(mcs, name, bases, namespace, *args, **others)
                if not cls.__dict__.get("__pydantic_complete__") and not others.get("defer_build"):
                    # Pydantic looked for the local names of a function here, not where the class statement stands.
                    cls.model_rebuild(raise_errors=False, _types_namespace=caller_names())
        except BareMarkerError as error:
            raise ModelDefinitionError(
                f"{name}: a field is annotated {error} without a type; write it with one, such as {error}[str]",
                model=name,
            ) from None
        except TypeError as error:
            # A bare type is no marker: of date | None the operator tells, as the name means the default.
            if not isinstance(error, HiddenTypeError) and "'FieldInfo'" not in str(error):
                raise
            raise hidden_type(name) from None
        install(cls, namespace, _computed_of)
        keep_hash(cls, namespace)
        _settle(cls, bases, declared, given)
        return cls

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:  # noqa: N805 - a metaclass's self is a class
            own = cls.__dict__
            fields = own.get("__pydantic_fields__")
            if fields is None or name not in fields or _BUILDING.depth:
                return _super_attribute(super(), cls, name)
            expressions = own.get("__dynamap_expressions__")
            found = None if expressions is None else expressions.get(name)
            return cls.__expression__(name) if found is None else found

        def __expression__(cls, name: str) -> Any:  # noqa: N805 - a metaclass's self is a class
            """Return the expression of a field; None while the class is made."""
            if _BUILDING.depth:
                return None
            expressions = cls.__dict__.get("__dynamap_expressions__")
            if expressions is None:
                expressions = {}
                type.__setattr__(cls, "__dynamap_expressions__", expressions)
            if name not in expressions:
                from dynamap_async.expressions import at  # not every program asks for conditions

                expressions[name] = at(definition_of(cls).path(name))
            return expressions[name]


class Model(BaseModel, metaclass=ModelMeta):
    """The base of all models.

    ``class Tweet(Model, table="tweets")`` maps a table, ``class Audited(Model, abstract=True)`` gives fields and
    indexes to subclasses, and ``class Address(Model)`` is nested in other models.
    """

    __slots__ = SLOTS

    if TYPE_CHECKING:
        # Else ty and pyrefly, which know that Pydantic converts values, ask nothing of the constructor's arguments.
        model_config: ClassVar[ConfigDict] = ConfigDict(strict=True)

        @classmethod
        def __init_subclass__(cls, **keywords: Unpack[ModelKeywords]) -> None: ...
        def __paths__(self) -> type[Self]: ...
        @classmethod
        def _document_type(cls) -> Exactly[Self]: ...
    else:

        def __getattr__(self, name: str) -> Any:
            try:
                return _super_attribute(super(), type(self), name)
            except AttributeError:
                if (error := _unassigned(type(self), name)) is not None:
                    raise error from None
                raise

        def __setattr__(self, name: str, value: Any) -> None:
            before = self.__dict__.get(name, UNASSIGNED)
            super().__setattr__(name, value)
            if value is before or self.model_config.get("validate_assignment"):
                return
            if name in self.__pydantic_fields__ or name in (self.__pydantic_extra__ or ()):
                mark_assigned(self, name)

    def __copy__(self) -> Self:
        copied = super().__copy__()
        hand_over(self, copied)
        return copied

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        copied = super().__deepcopy__(memo)
        hand_over(self, copied)
        return copied

    def __getstate__(self) -> dict[Any, Any]:
        return {**super().__getstate__(), **dumped_state(self)}

    def __setstate__(self, state: dict[Any, Any]) -> None:
        super().__setstate__(state)
        restore(self, state.get(STATE, (None, None)), state.get(UNVALIDATED))

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy, as Pydantic does; what it is updated with is validated when the copy is written.

        Args:
            update: field name -> value of what is different in the copy; it is not validated here.
            deep: whether values that can change are copied too.
        """
        copied = super().model_copy(update=update, deep=deep)
        if update:
            mark_unvalidated(copied, update)
        return copied

    @classmethod
    def from_wire(cls, image: Mapping[str, Any], /) -> Self:
        """Return the instance of an item in DynamoDB's JSON, as reads make it: of a stream, an export, another tool.

        It counts as read: ``save`` writes what is changed of it, and requires that the item still exists. In a shared
        table it may be an instance of a subclass. Hooks do not run.

        Args:
            image: attribute name -> attribute value, such as ``{"id": {"S": "a"}, "likes": {"N": "7"}}``.

        Raises:
            DecodeError: it is no item in that form.
            ItemValidationError: it does not fit the model; an ItemDecodeError where a stored type differs.
            ItemKindError: it is of another model of the shared table, or of none that is known.
        """
        found: list[Self] = definition_of(cls).items.decode([codec.wire_item(image)])
        return found[0]

    @classmethod
    def model_construct(cls, _fields_set: set[str] | None = None, **values: Any) -> Self:
        """Make an instance without validation, as Pydantic does; fields that a session gives a value stay without.

        What it is given is validated when a session writes the instance.

        Args:
            _fields_set: the names of the fields that count as set; those of ``values`` by default.
            values: field name -> value.
        """
        made = super().model_construct(_fields_set, **values)
        # Where the caller names the fields that were set, they tell nothing of what was given.
        given = made.__pydantic_fields_set__ if _fields_set is None else made.__dict__
        if names := (*given, *(made.__pydantic_extra__ or ())):
            mark_unvalidated(made, names)
        if COMPUTES in cls.__pydantic_decorators__.model_validators and (computed := _computed_of(cls)) is not None:
            complete(made, computed, keep=True)
        return without_stand_ins(made)


def _unassigned(model: type[Model], name: str) -> UnassignedFieldError | None:
    info = model.__pydantic_fields__.get(name)
    declared = None if info is None else declared_template(info)
    assigned = None if info is None else assigned_of(info)
    if assigned is None and declared is None:
        return None
    when = assigned.when if assigned is not None else "one when all fields in its template have theirs"
    return UnassignedFieldError(
        f"{model.__name__}.{name} has no value yet: it gets {when}", model=model.__name__, field=name
    )


def fields(model: type[ModelT], /) -> type[ModelT]:
    """Return the model itself: ``fields(Thing).id`` for type checkers that refuse ``Thing.id`` of a generic base.

    Args:
        model: the model class.
    """
    return model


def to_wire(item: Model, /) -> WireItem:
    """Return an instance as ``put`` would store it, in DynamoDB's JSON: ``{"id": {"S": "a"}, "likes": {"N": "7"}}``.

    Binary data is base64 text, as in events of AWS Lambda and exports to S3. Nothing is sent; hooks do not run, and
    versions, numbers and times that a session gives are as the instance has them. ``Model.from_wire`` is the way back.

    Args:
        item: an instance of a model.

    Raises:
        EncodeError: a value cannot be stored, or a key is empty or too long.
        ItemTooLargeError: the item is over 400 KB.
        OperationError: it is no instance of a model, or was read from a part of its item.
    """
    given: object = item
    if not isinstance(given, Model):
        raise OperationError(f"to_wire({given!r}) takes an instance of a model")
    definition = definition_of(type(item))
    definition.validation.before_put(item, "written")
    return definition.items.encode(item)
