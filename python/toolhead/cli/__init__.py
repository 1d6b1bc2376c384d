"""The command line: `toolhead COMMAND`, or `python -m toolhead COMMAND`.

Rules: spec/api.md section 9. One file a command; facts go to standard output, errors to standard error; the exit code
is 0, 1 for invalid data, 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from toolhead import __version__
from toolhead.cli.errors import INTERRUPTED, USAGE, CommandError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = ("demo", "replay", "inspect", "call", "validate", "schema")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="toolhead", description="The tool layer for LLM applications.", epilog="toolhead COMMAND --help says more."
    )
    parser.add_argument("--version", action="version", version=f"toolhead {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in COMMANDS:
        command = import_module(f"toolhead.cli.{name}")
        subparser = commands.add_parser(
            name,
            help=command.SUMMARY,
            description=command.SUMMARY,
            epilog=command.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    given = parser.parse_args(arguments)
    try:
        code: int = given.run(given)
    except CommandError as error:
        print(f"toolhead: {error}", file=sys.stderr)
        return error.code
    except BrokenPipeError:  # whoever read the output went away: `toolhead demo | head`
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def program() -> NoReturn:
    """The console script."""
    sys.exit(main())


__all__ = ["USAGE", "main", "program"]
