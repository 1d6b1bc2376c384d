"""mypy and pyright agree with what `usage.py` states about the types of the public interface."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import toolhead

HERE = Path(__file__).resolve().parent
PYRIGHT = {"pythonVersion": "3.11", "strict": ["usage.py"], "reportUnnecessaryTypeIgnoreComment": "error"}


def check(*command: str, cwd: Path) -> None:
    run = subprocess.run([sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.fixture
def alone(tmp_path):
    # Outside the repository, so that the checkers see the installed package and no settings but these.
    (tmp_path / "usage.py").write_bytes((HERE / "usage.py").read_bytes())
    return tmp_path


def test_mypy(alone):
    check("mypy", "--strict", "--python-version=3.11", "usage.py", cwd=alone)


def test_pyright(alone):
    (alone / "pyrightconfig.json").write_text(json.dumps(PYRIGHT))
    check("pyright", "--pythonpath", sys.executable, "usage.py", cwd=alone)


def test_the_package_says_that_it_is_typed():
    assert (Path(toolhead.__file__).parent / "py.typed").exists()
