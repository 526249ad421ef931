"""Our decorator makes what the standard one makes."""

import copy
import dataclasses
import inspect
import pickle
import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any, Generic, TypeVar

import pytest

import dynamap_async
from dynamap_async.dataclass import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Point:
    """A point."""

    x: int
    y: int = 0
    notes: list[str] = dataclasses.field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Named(Point):
    name: str = dataclasses.field(repr=False)


@dataclass(slots=True)
class Counter:
    count: int
    _: dataclasses.KW_ONLY
    doubled: int = dataclasses.field(default=0, compare=False)

    def __post_init__(self) -> None:
        self.doubled = self.doubled or self.count * 2


@dataclass(frozen=True)
class Boxed(Generic[T]):
    value: T


@dataclass(frozen=True)
class Same:  # noqa: PLW1641 - the decorator writes its hash
    value: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same)

    def __repr__(self) -> str:
        return "same"


@dataclass(slots=True, eq=False)
class Alone:
    value: int


def classes() -> list[type]:
    names = [found.name for found in pkgutil.walk_packages(dynamap_async.__path__, "dynamap_async.")]
    # What mypy's plugin and the build hook extend is not installed here; the codec in C may not have been built.
    left_out = ("dynamap_async.mypy", "dynamap_async.native.build_hook", "dynamap_async.native._codec")
    modules = [import_module(name) for name in names if not name.startswith(left_out)]
    found = {cls for module in modules for cls in vars(module).values() if inspect.isclass(cls)}
    ours = [cls for cls in found if "__dataclass_fields__" in vars(cls) and cls.__module__.startswith("dynamap_async")]
    return sorted(ours, key=lambda cls: f"{cls.__module__}.{cls.__qualname__}")


def standard(cls: type) -> type:
    """Return a class with the same fields, whose ``__init__`` the standard decorator writes."""
    frozen = cls.__dataclass_params__.frozen  # type: ignore[attr-defined]  # of those that the standard one made
    return dataclasses.dataclass(repr=False, eq=False, frozen=frozen)(type("Standard", (cls,), {"__doc__": "."}))


@pytest.mark.parametrize("cls", [Point, Named, Counter, Boxed, *classes()], ids=lambda cls: cls.__qualname__)
def test_the_signature_is_that_of_the_standard_decorator(cls: type) -> None:
    assert str(inspect.signature(cls)) == str(inspect.signature(standard(cls)))


def test_nothing_is_compiled_before_the_first_instance() -> None:
    @dataclass(frozen=True)
    class Late:
        value: int

    assert not inspect.isfunction(vars(Late)["__init__"])
    assert Late(1).value == Late(value=1).value == 1
    assert inspect.isfunction(vars(Late)["__init__"])


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (lambda: Point(1), "Point(x=1, y=0, notes=[])"),
        (lambda: Named(x=1, name="n"), "Named(x=1, y=0, notes=[])"),
        (lambda: Counter(2), "Counter(count=2, doubled=4)"),
        (lambda: Counter(2, doubled=1), "Counter(count=2, doubled=1)"),
        (lambda: Boxed[str]("a"), "Boxed(value='a')"),
        (lambda: Same(1), "same"),
    ],
)
def test_values_are_shown_compared_copied_and_pickled(made: Callable[[], Any], shown: str) -> None:
    value = made()
    assert repr(value) == shown
    assert value == made() == copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value))
    assert value != object()
    assert dataclasses.asdict(value) == {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def test_a_factory_is_asked_for_each_instance() -> None:
    assert Point(1).notes is not Point(1).notes


def test_a_value_that_holds_itself_is_shown() -> None:
    boxed: Boxed[list[Any]] = Boxed([])
    boxed.value.append(boxed)
    assert repr(boxed) == "Boxed(value=[...])"


def test_what_is_frozen_is_hashed_by_its_fields_and_what_is_not_cannot_be_hashed() -> None:
    assert hash(Boxed(1)) == hash(Boxed(1))
    assert len({Boxed(1), Boxed(1), Boxed(2), Same(1), Same(2)}) == 4
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter(1))


def test_without_equality_an_instance_equals_itself_only() -> None:
    value = Alone(1)
    assert value == value  # noqa: PLR0124 - its own equality is what is asked
    assert value != Alone(1)
    assert len({value, Alone(1)}) == 2


def test_fields_that_are_not_compared_do_not_count() -> None:
    assert Counter(1, doubled=5) == Counter(1, doubled=6)
    assert Counter(1) != Counter(2)


def test_members_that_are_identical_are_equal_whatever_they_answer() -> None:
    never = float("nan")
    assert Boxed(never) == Boxed(never)


@pytest.mark.parametrize("value", [Point(1), Named(x=1, name="n"), Boxed(1)])
def test_a_frozen_value_refuses_to_be_changed(value: Any) -> None:
    [field, *_] = dataclasses.fields(value)
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{field.name}'"):
        setattr(value, field.name, 2)
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot delete field '{field.name}'"):
        delattr(value, field.name)
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.other = 2


def test_a_subclass_has_attributes_of_its_own_beside_the_frozen_ones() -> None:
    class Open(Boxed[int]):
        pass

    value: Any = Open(1)
    value.other = 2
    del value.other
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.value = 2


def test_replace_gives_another_value() -> None:
    assert dataclasses.replace(Named(x=1, name="n"), y=2) == Named(x=1, y=2, name="n")


def test_wrong_arguments_are_told_with_the_name_of_the_class() -> None:
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]  # on purpose


def test_positional_fields_can_be_matched() -> None:
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
    assert Named.__match_args__ == Point.__match_args__ == ("x", "y", "notes")
