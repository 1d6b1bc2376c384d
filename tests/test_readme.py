"""Every block of the README's Python runs as it stands, in order, and prints exactly what the README says."""

import ast
import contextlib
import inspect
import io
import re
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import pytest

from shared_data import REPOSITORY

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOCUMENTS = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]


def blocks(text: str) -> Iterator[tuple[str, str | None, int]]:
    """Each Python block with the text block right after it (what it prints) and its line."""
    found = [(match[1], match[2], match.start(), match.end()) for match in BLOCK.finditer(text)]
    for index, (language, body, start, end) in enumerate(found):
        if language == "python":
            printed = None
            if index + 1 < len(found):
                next_language, next_body, next_start, _ = found[index + 1]
                if next_language == "text" and not text[end:next_start].strip():
                    printed = next_body
            yield body, printed, text.count("\n", 0, start) + 1


async def run(code: CodeType, namespace: dict[str, Any]) -> None:
    """Run a block that may use `await` at its top level, as the asyncio prompt does."""
    result = FunctionType(code, namespace)()
    if inspect.iscoroutine(result):
        await result


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
async def test_blocks_of_document(document):
    namespace: dict[str, Any] = {"__name__": "readme", "__builtins__": __builtins__}
    for body, printed, line in blocks(document.read_text(encoding="utf-8")):
        # Line numbers in tracebacks are the document's own.
        tree = ast.increment_lineno(ast.parse(body), line)
        code = compile(tree, str(document), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            await run(code, namespace)
        if printed is not None:
            assert output.getvalue() == printed, f"{document.name}:{line}"


def test_readme_has_the_blocks_it_promises():
    languages = [match[1] for match in BLOCK.finditer((REPOSITORY / "README.md").read_text(encoding="utf-8"))]
    assert languages.count("python") >= 3
    assert languages.count("text") >= 3


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for document in [*DOCUMENTS, REPOSITORY / "CONTRIBUTING.md", REPOSITORY / "benches" / "README.md"]:
        named = set(re.findall(r"(?:`|^)make ([a-z-]+)", document.read_text(encoding="utf-8"), re.MULTILINE))
        assert named <= targets, document.name
