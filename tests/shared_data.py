"""Where test data from outside the repository is found, and how its files are read: the one locator.

The vectors, streams, cases and corpora stand beside the repository, in the folder that the environment variable
TOOLHEAD_SHARED names or else in `../shared`. A clone alone does not have them: what asks for them is then skipped, and
the run's header and summary say so. What must always run has its data in `tests/conformance/official`.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
BINDING = frozenset({"match", "timing"})
"""The parities of golden vectors that have to hold; the others are information."""
SHARED = Path(os.environ.get("TOOLHEAD_SHARED") or REPOSITORY.parent / "shared").resolve()


def has_shared(*parts: str) -> bool:
    """Whether a shared file or folder is there."""
    return SHARED.joinpath(*parts).exists()


def shared_path(*parts: str) -> Path:
    """The path of a shared file or folder; skips the test (or the module being collected) when it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(absent(path), allow_module_level=True)
    return path


def absent(path: Path) -> str:
    """The reason that a skip for missing shared data gives."""
    return f"shared data absent: {path} (set TOOLHEAD_SHARED)"


def read_vectors(folder: Path, form: str) -> Iterator[dict[str, Any]]:
    """Every vector of the given `format` in a folder, whatever its files are called and however deep they lie."""
    for path in sorted(folder.rglob("*.json")):
        document = json.loads(path.read_bytes())
        if isinstance(document, dict) and document.get("format") == form:
            yield from document.get("cases") or document["vectors"]


def read_streams(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every stream of a folder as (path of the stream, its sidecar)."""
    for path in sorted(folder.glob("*.json")):
        sidecar = json.loads(path.read_bytes())
        if isinstance(sidecar, dict) and sidecar.get("format") == "tool-stream/1":
            yield folder / sidecar["stream"], sidecar


def read_cases(path: Path) -> Iterator[dict[str, Any]]:
    """Every case of a file with one JSON object a line; an `instance` also as it is written, as `instance_text`."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.strip():
                continue
            case = json.loads(line)
            if "instance" in case:
                case["instance_text"] = bytes(
                    msgspec.json.decode(line, type=dict[str, msgspec.Raw])["instance"]
                ).decode()
            yield case
