"""Every file in `examples/` runs by itself, without network, and ends well."""

import subprocess
import sys

import pytest

from shared_data import REPOSITORY

EXAMPLES = sorted((REPOSITORY / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, tmp_path):
    run = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout, "an example shows its result"
    assert run.stderr == ""


def test_there_are_examples():
    assert EXAMPLES
