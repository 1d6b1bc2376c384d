"""`python -m peers validate|stream|call`: the product beside every peer, three runs, minima, recorded and plotted."""

import argparse

from peers import call, stream, validate

SUITES = {"validate": validate, "stream": stream, "call": call}


def main() -> None:
    """Run one suite and say which of the promised figures hold."""
    parser = argparse.ArgumentParser(prog="peers", description=__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--runs", type=int, default=3, help="how often the harness runs; minima are kept (default 3)")
    parser.add_argument("--quick", action="store_true", help="one short run, nothing recorded: does it work at all")
    options, extra = parser.parse_known_args()  # what is not ours is the harness's
    suite = SUITES[options.suite]
    measured = suite.measure(1 if options.quick else options.runs, quick=options.quick, extra=extra)
    suite.report(measured, record=not options.quick)


if __name__ == "__main__":
    main()
