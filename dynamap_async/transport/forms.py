"""Wire JSON <-> what aiobotocore's clients take and give: there, binary values are bytes and times are datetimes.

Follows botocore's own model of each operation, so it covers every operation and every place a binary value can be in.
"""

import base64
from typing import Any


def to_client_form(value: Any, shape: Any) -> Any:
    """Return a request's part as an aiobotocore client takes it. What the model does not know is left as it is.

    Args:
        value: the part, in wire form.
        shape: botocore's shape of it.
    """
    match shape.type_name:
        case "blob":
            return base64.b64decode(value)
        case "structure":
            members = shape.members
            return {
                name: to_client_form(part, members[name]) if name in members else part for name, part in value.items()
            }
        case "map":
            return {name: to_client_form(part, shape.value) for name, part in value.items()}
        case "list":
            return [to_client_form(part, shape.member) for part in value]
        case _:
            return value


def to_wire_form(value: Any, shape: Any) -> Any:
    """Return an answer's part as it was on the wire. What the model does not know is left out.

    Args:
        value: the part, as an aiobotocore client gave it.
        shape: botocore's shape of it.
    """
    match shape.type_name:
        case "blob":
            return base64.b64encode(value).decode()
        case "timestamp":
            return value.timestamp()
        case "structure":
            members = shape.members
            return {name: to_wire_form(part, members[name]) for name, part in value.items() if name in members}
        case "map":
            return {name: to_wire_form(part, shape.value) for name, part in value.items()}
        case "list":
            return [to_wire_form(part, shape.member) for part in value]
        case _:
            return value
