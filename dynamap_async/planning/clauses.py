"""Clauses: which conditions a key condition can be made of, and how several on one attribute become one.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html
"""

from collections.abc import Sequence

from dynamap_async.codec import order_key
from dynamap_async.errors import OperationError
from dynamap_async.expressions import Between, Comparison, Condition, Function, In, Or, Path, Value
from dynamap_async.planning.route import PartitionCondition


def named(condition: Condition) -> str | None:
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
    """Return whether a condition gives one value; an ``Or``, whether each of its parts does."""
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


def fixing_of(found: Sequence[Condition], why: str = "an item has one partition key") -> PartitionCondition | None:
    """Return the condition among those on one attribute that gives its value, or else its values; None without one.

    Raises:
        OperationError: two give different values.
    """
    equalities = distinct([each for each in found if is_equality(each)])
    if len(equalities) > 1:
        raise OperationError(f"no item can satisfy both {' and '.join(map(str, equalities))}: {why}")
    if equalities and isinstance(equalities[0], Comparison):
        return equalities[0]
    return next((each for each in found if isinstance(each, In)), None)


def merged(name: str, found: Sequence[Condition]) -> Condition:
    """Return one condition for a sort key attribute: DynamoDB takes one, so ``>=`` with ``<=`` becomes BETWEEN.

    Raises:
        OperationError: they cannot become one, or exclude each other.
    """
    conditions = distinct(found)
    match sorted(conditions, key=lambda each: each.comparator if isinstance(each, Comparison) else ""):
        case [only]:
            return only
        case [
            Comparison(comparator="<=", right=Value() as high) as below,
            Comparison(comparator=">=", right=Value() as low) as above,
        ]:
            if order_key(low.stored) > order_key(high.stored):
                raise empty_range((above, below))
            return Between(below.left, low, high)
        case _:
            pass
    raise OperationError(
        f"a key condition takes one condition on the sort key {name!r}, and {' with '.join(map(str, conditions))} "
        "cannot be merged into one; write >= with <=, or between()"
    )


def empty_range(conditions: Sequence[Condition]) -> OperationError:
    """Return the error of a range that ends before it begins."""
    both = "both " if len(conditions) > 1 else ""
    spelled = " and ".join(map(str, conditions))
    return OperationError(f"no item can satisfy {both}{spelled}: the low end is above the high end")


def distinct(conditions: Sequence[Condition]) -> list[Condition]:
    """Return conditions, each once."""
    return [each for i, each in enumerate(conditions) if each not in conditions[:i]]
