"""Items that an index leaves out: what a read of it must not show, though an engine does. Pure.

An index that is filled from the items of a table leaves out, without a word, those whose value has another type than
its key declares, is empty, or is too long.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.ViolationDetection.html
"""

import base64
from collections.abc import Mapping
from typing import Any, Final

from dynamap_async.limits import PARTITION_KEY_BYTES, SORT_KEY_BYTES
from dynamap_async.wire import Body, WireItem

_ADDED: Final = "#slow_tables_"


def fits(item: WireItem, key_schema: list[dict[str, str]], types: Mapping[str, str]) -> bool:
    """Return whether an index has an entry for an item.

    Args:
        item: the item, with all attributes of the index's key.
        key_schema: the index's key, in wire form.
        types: attribute name -> declared type.
    """
    for element in key_schema:
        name = element["AttributeName"]
        content = (item.get(name) or {}).get(types[name])
        longest = PARTITION_KEY_BYTES if element["KeyType"] == "HASH" else SORT_KEY_BYTES
        if not isinstance(content, str) or not 0 < _size(types[name], content) <= longest:
            return False
    return True


def with_keys(body: Body, names: list[str]) -> tuple[Body, list[str]]:
    """Return a read that brings the attributes of the index's key too, and those among them that it did not ask for.

    Args:
        body: a Query or a Scan of an index.
        names: the attributes of the index's key.
    """
    if body.get("Select") == "COUNT":
        asked: list[str] = []
        body = {**body, "Select": "SPECIFIC_ATTRIBUTES"}
    elif "ProjectionExpression" in body:
        asked = [part.strip() for part in body["ProjectionExpression"].split(",")]
    else:
        return body, []
    aliases: Mapping[str, str] = body.get("ExpressionAttributeNames") or {}
    known = {aliases.get(path, path) for path in asked}
    added = [name for name in names if name not in known]
    if not added and asked:
        return body, []
    own = {f"{_ADDED}{number}": name for number, name in enumerate(added)}
    wanted = {
        "ProjectionExpression": ", ".join([*asked, *own]),
        "ExpressionAttributeNames": {**aliases, **own},
    }
    return {**body, **wanted}, added


def without_unfit(
    body: Body, answer: Body, key_schema: list[dict[str, str]], types: Mapping[str, str], added: list[str]
) -> Body | None:
    """Return an answer without the items that the index does not hold, its counts corrected.

    Args:
        body: the read as it was asked.
        answer: the engine's answer.
        key_schema: the index's key, in wire form.
        types: attribute name -> declared type.
        added: attributes that the read did not ask for.

    Returns:
        None where the answer can stay as it is.
    """
    items: list[dict[str, Any]] = answer["Items"]
    held = [item for item in items if fits(item, key_schema, types)]
    counts = body.get("Select") == "COUNT"
    left_out = len(items) - len(held)
    if not left_out and not added and not counts:
        return None
    shown = {
        **answer,
        "Items": [{name: item[name] for name in item if name not in added} for item in held],
        "Count": len(held),
        # Those that a filter dropped before are not known one by one.
        "ScannedCount": answer["ScannedCount"] - left_out,
    }
    if counts:
        del shown["Items"]
    return shown


def _size(kind: str, content: str) -> int:
    if kind == "B":
        return len(base64.b64decode(content))
    return len(content.encode()) if kind == "S" else 1
