"""Figures that the project promises, and the table that says which of them hold."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple


class Bar(NamedTuple):
    """One promise: what was measured, and the bound it is held against."""

    what: str
    measured: float | None
    bound: float
    at_least: bool
    unit: str = "x"

    @property
    def holds(self) -> bool | None:
        """Whether it holds; None when nothing was measured (a peer is missing)."""
        if self.measured is None:
            return None
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound


def at_least(what: str, measured: float | None, bound: float, unit: str = "x") -> Bar:
    """A promise that more is better."""
    return Bar(what, measured, bound, at_least=True, unit=unit)


def at_most(what: str, measured: float | None, bound: float, unit: str = "x") -> Bar:
    """A promise that less is better."""
    return Bar(what, measured, bound, at_least=False, unit=unit)


def geometric_mean(values: Iterable[float]) -> float | None:
    """The geometric mean, None of nothing."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """The quotient, None when either side was not measured."""
    return numerator / denominator if numerator and denominator else None


def print_bars(bars: list[Bar]) -> None:
    """Print what was measured, the bound, and whether it holds."""
    width = max(len(bar.what) for bar in bars)
    print(f"\n{'promise':{width}}   measured      bound")
    for bar in bars:
        word = {True: "holds", False: "DOES NOT HOLD", None: "not measured"}[bar.holds]
        measured = "-" if bar.measured is None else f"{bar.measured:.3g}"
        print(f"{bar.what:{width}} {measured:>10} {'>=' if bar.at_least else '<='} {bar.bound:<6g} {bar.unit:3} {word}")


def as_json(bars: list[Bar]) -> list[dict[str, Any]]:
    """The bars for the record."""
    return [{**bar._asdict(), "holds": bar.holds} for bar in bars]
