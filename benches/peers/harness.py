"""Runs a shared harness in a process of its own, one at a time on this machine, and records what came out.

The harnesses are not part of the repository: they stand in the shared data (`peers/`) and define the figures. Here they
are run several times, the minima kept, the promises checked and the results stored under `benches/results/`.
"""

import fcntl
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "benches" / "results"
PLOTS = REPOSITORY / "docs" / "plots"
SHARED = Path(os.environ.get("TOOLHEAD_SHARED") or REPOSITORY.parent / "shared")
PEERS = SHARED / "peers"


def run(script: str, arguments: list[str], output_option: str, runs: int, environment: dict[str, str]) -> list[Any]:
    """The JSON of `runs` runs of a harness; no other bench of this project measures meanwhile."""
    if not (PEERS / script).exists():
        sys.exit(f"benches: {PEERS / script} is absent: the peers' harnesses are shared data (set TOOLHEAD_SHARED)")
    outcomes = []
    with Path(tempfile.gettempdir(), "toolhead-bench.lock").open("w") as lock, tempfile.TemporaryDirectory() as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for number in range(1, runs + 1):
            output = Path(folder, f"{number}.json")
            print(f"== {script}, run {number} of {runs}", flush=True)
            command = [sys.executable, str(PEERS / script), *arguments, output_option, str(output)]
            subprocess.run(command, check=True, env=os.environ | environment, cwd=folder)
            outcomes.append(json.loads(output.read_bytes()))
    return outcomes


def record(suite: str, measured: dict[str, Any]) -> Path:
    """Store results under their date and commit, with the machine they were measured on."""
    now = datetime.now(UTC)
    stored = {
        "suite": suite,
        "date": now.isoformat(timespec="seconds"),
        "commit": _git("describe", "--always", "--dirty"),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {_processor()}, {os.cpu_count()} cores",
        **measured,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{now:%Y-%m-%d}-{suite}.json"
    path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    return path


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"
