"""Key conditions: which conditions DynamoDB takes, how several on one attribute become one, and what values they have.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from dynamap_async.codec import KeyRole, check_key_value, order_key
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import EncodeError, OperationError, OutOfRangeError
from dynamap_async.expressions import Between, Comparison, Condition, Function, In, Or, Path, Value
from dynamap_async.models.templates import after_all

MAX_QUERIES: Final = 100
"""How many queries are sent for one, at most."""

PartitionCondition: TypeAlias = Comparison | In


@dataclass(frozen=True, slots=True)
class EachShard(In):
    """The shards of a partition key, each queried on its own. It prints as the condition that it was made from."""

    original: PartitionCondition

    def __str__(self) -> str:
        return str(self.original)


def attribute_of(condition: Condition) -> str | None:
    """Return the attribute that a condition compares with constants; None for anything else."""
    match condition:
        case Comparison(left=Path(steps=(str(name),)), right=Value()):
            return name
        case (
            Between(operand=Path(steps=(str(name),)))
            | In(operand=Path(steps=(str(name),)))
            | Function(path=Path(steps=(str(name),)))
        ):
            return name
        case _:
            return None


def is_equality(condition: Condition) -> bool:
    """Return whether a condition allows one value only; an ``Or``, whether each of its parts does."""
    if isinstance(condition, Or):
        return all(map(is_equality, condition.parts))
    return isinstance(condition, Comparison) and condition.comparator == "=" and isinstance(condition.right, Value)


def is_sort_condition(condition: Condition) -> bool:
    """Return whether DynamoDB takes a condition on a sort key attribute."""
    match condition:
        case Comparison(comparator=comparator, right=Value()):
            return comparator != "<>"
        case Between():
            return True
        case Function(name=name):
            return name == "begins_with"
        case _:
            return False


def equality_among(found: Sequence[Condition]) -> PartitionCondition | None:
    """Return the ``==`` among conditions on one attribute, or else the ``is_in``; None if there is neither.

    Equalities with different values leave none, because an item has one.
    """
    equalities = distinct([each for each in found if is_equality(each)])
    if len(equalities) > 1:
        return In(path_and_constants(equalities[0])[0], ())
    if equalities and isinstance(equalities[0], Comparison):
        return equalities[0]
    return next((each for each in found if isinstance(each, In)), None)


def answered_by(equality: PartitionCondition, found: Sequence[Condition]) -> list[Condition]:
    """Return the conditions on one attribute that ``equality_among`` took into account."""
    return [equality] if equality in found else [each for each in found if is_equality(each)]


def merge_conditions(name: str, found: Sequence[Condition]) -> Condition:
    """Return one condition for a sort key attribute: DynamoDB takes only one, so ``>=`` and ``<=`` become BETWEEN.

    Equalities with different values become one that no item meets.

    Raises:
        OperationError: they cannot become one.
    """
    conditions = distinct(found)
    if len(conditions) > 1 and all(map(is_equality, conditions)):
        return In(path_and_constants(conditions[0])[0], ())
    # Sorted, so that each pair has to be matched in one order only: "<" and "<=" come before ">" and ">=".
    match sorted(conditions, key=lambda each: each.comparator if isinstance(each, Comparison) else ""):
        case [only]:
            return only
        case [
            Comparison(comparator="<=", right=Value() as high) as below,
            Comparison(comparator=">=", right=Value() as low),
        ]:
            return Between(below.left, low, high)
        case [
            Comparison(comparator="<" | "<=", right=Value() as high) as below,
            Comparison(comparator=">" | ">=", right=Value() as low) as above,
        ]:
            kept = " and ".join(str(each) for each in (above, below) if each.comparator in ("<", ">"))
            remedy = f"ask for {Between(below.left, low, high)}, and keep of its items those with {kept}"
            raise OperationError(
                f"a query takes one condition on the sort key {name!r}, and {above} with {below} is none, because a "
                f"range of DynamoDB's that ends on both sides includes both ends; {remedy}"
            )
        case _:
            pass
    raise OperationError(
        f"a query takes one condition on the sort key {name!r}, and {' with '.join(map(str, conditions))} cannot be "
        "merged into one; write one range that has the items of all, such as between(low, high)"
    )


def distinct(conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions without repetitions."""
    return [each for i, each in enumerate(conditions) if each not in conditions[:i]]


def too_many_queries_error(name: str, number: int) -> OutOfRangeError:
    """Return the error of a key with more combinations of values than are queried together."""
    return OutOfRangeError(
        f"the key of {name} has {number:,} combinations of values, and each needs a query; at most {MAX_QUERIES} are "
        "sent together, so ask for fewer values at a time"
    )


def distinct_values(condition: PartitionCondition) -> PartitionCondition:
    """Return a membership without repeated values."""
    if isinstance(condition, Comparison):
        return condition
    # By order_key, because 1 and 1.0 are the same key: two queries would return its items twice.
    distinct: dict[object, Value] = {}
    for value in condition.values:
        distinct.setdefault(order_key(value.stored), value)
    return In(condition.operand, tuple(distinct.values()))


def check_constants(condition: Condition, role: KeyRole) -> None:
    """Raise EncodeError where a constant of a key condition cannot be the value of a key in this role."""
    path, constants = path_and_constants(condition)
    for constant in constants:
        try:
            check_key_value(constant.stored, role)
        except EncodeError as error:
            raise error.at(path.spelled, model=path.owner.__name__) from None


def path_and_constants(condition: Condition) -> tuple[Path, tuple[Value, ...]]:
    """Return the attribute that a key condition is on, and what it is compared with."""
    match condition:
        case Comparison(left=Path() as path, right=Value() as value):
            return path, (value,)
        case Between(operand=Path() as path, low=low, high=high):
            return path, (low, high)
        case In(operand=Path() as path, values=values):
            return path, values
        case Function(path=path, arguments=arguments):
            return path, tuple(each for each in arguments if isinstance(each, Value))
        case Or(parts=parts):
            found = [path_and_constants(part) for part in parts]
            return found[0][0], tuple(constant for _, constants in found for constant in constants)
        case _:
            raise TypeError(f"{condition} is not a key condition")


def implies_prefix(condition: Condition, prefix: str) -> bool:
    """Return True if only text that begins with the prefix can meet a condition."""
    match condition:
        case Or(parts=parts):
            return all(implies_prefix(part, prefix) for part in parts)
        case Comparison(comparator="=", right=Value(stored={"S": str(value)})):
            return value.startswith(prefix)
        case Between(low=Value(stored={"S": str(low)}), high=Value(stored={"S": str(high)})):
            return low.startswith(prefix) and high.startswith(prefix)
        case Function(name="begins_with", arguments=(Value(stored={"S": str(value)}),)):
            return value.startswith(prefix)
        case _:
            return False


def is_within(condition: Condition, text: str) -> bool:
    """Return True if a condition selects only keys that begin with a text, and at most the next key behind these."""
    match condition:
        case Or(parts=parts):
            return all(is_within(part, text) for part in parts)
        case In(values=values):
            return all(value.stored.get("S", "").startswith(text) for value in values)
        case Between(low=Value(stored={"S": str(low)}), high=Value(stored={"S": str(high)})) if high == after_all(text):
            return low.startswith(text)
        case _:
            return implies_prefix(condition, text)
