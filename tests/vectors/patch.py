"""JSON Patch (RFC 6902), as far as `divergences.json` uses it: where our facts differ from the wanted ones."""

import copy
from typing import Any


def patched(document: Any, patch: list[dict[str, Any]]) -> Any:
    """`document` after the operations, in order. Raises `KeyError` where one does not fit or is not known."""
    document = copy.deepcopy(document)
    for operation in patch:
        *parents, last = (
            step.replace("~1", "/").replace("~0", "~") for step in operation["path"].removeprefix("/").split("/")
        )
        place = document
        for step in parents:
            place = place[int(step)] if isinstance(place, list) else place[step]
        kind, is_list = operation["op"], isinstance(place, list)
        key: Any = int(last) if is_list else last
        if kind != "add" and not (key < len(place) if is_list else key in place):
            raise KeyError(f"{kind} of {operation['path']}: there is nothing")
        if kind == "remove":
            del place[key]
        elif kind == "add" and is_list:
            place.insert(key, operation["value"])
        elif kind in ("add", "replace"):
            place[key] = operation["value"]
        else:
            raise KeyError(f"an operation that is not known: {kind}")
    return document
