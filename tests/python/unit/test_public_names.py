"""`__all__` is what the package offers: every name in it is there, and every public name that is there is in it."""

import importlib.metadata
import subprocess
import sys
import types

import toolhead


def test_all_names_exist():
    assert sorted(set(toolhead.__all__)) == sorted(toolhead.__all__), "a name stands twice in __all__"
    missing = [name for name in toolhead.__all__ if not hasattr(toolhead, name)]
    assert missing == []


def test_no_public_name_is_left_out_of_all():
    found = {
        name
        for name, value in vars(toolhead).items()
        if not name.startswith("_")
        and not isinstance(value, types.ModuleType)
        and getattr(value, "__module__", "").startswith("toolhead")
    }
    assert found - set(toolhead.__all__) == set()


def test_star_import_gives_all_names():
    namespace: dict[str, object] = {}
    exec("from toolhead import *", namespace)
    assert set(toolhead.__all__) <= namespace.keys()


def test_version_is_the_distributions():
    assert toolhead.__version__ == importlib.metadata.version("toolhead")


def test_import_loads_no_agent_and_nothing_for_tests():
    code = "import sys, toolhead; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in run.stdout.split() if name.startswith("toolhead.")}
    assert not {name for name in loaded if name.split(".")[1] in ("agent", "runs", "testing")}


def test_import_loads_no_optional_package():
    # Fresh process: what this one has loaded already would hide the answer.
    code = "import asyncio, msgspec, sys; before = set(sys.modules); import toolhead; print(*set(sys.modules) - before)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    loaded = {name for name in loaded if not name.startswith("_sysconfigdata")}  # named after the platform
    foreign = loaded - {"toolhead"} - set(sys.stdlib_module_names)
    assert foreign == set(), "a package that is neither the standard library nor a dependency"
