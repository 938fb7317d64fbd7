"""What kymograph is to keep to, and whether it does."""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict, dataclass
from typing import Any

from .rounds import Times
from .workloads import Workload

FLOOR_LIMIT = 1.15
BYTES_LIMIT = 4.0
STOP_LIMIT = 0.2
BUDGET_LIMIT = 1.08  # a budget of 5 %, and 3 points
PEER_WORKLOADS = ("fib", "re")


@dataclass(frozen=True)
class Target:
    what: str
    measured: float
    limit: float
    unit: str = ""
    spread: str = ""

    @property
    def verdict(self) -> str:
        return "ok" if self.measured <= self.limit else "miss"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict}

    def __str__(self) -> str:
        measured, limit = f"{self.measured:.2f}{self.unit}", f"{self.limit:g}{self.unit}"
        return (
            f"  {self.verdict:4}  {self.what:51} {measured:>10}  ≤ {limit:8} {self.spread}".rstrip()
        )


def peer_limit() -> tuple[str, float]:
    """Who is held against VizTracer, and how much of its cost is allowed."""
    if sys.version_info < (3, 12):
        return "kymograph", 0.3
    return "kymo_c", 0.35 if platform.machine() == "aarch64" else 0.5


def of_workload(workload: Workload, times: Times) -> dict[tuple[str, str], Target]:
    """By the keys of the two contestants that are compared."""
    key, limit = peer_limit()
    peer = "viztracer_c" if key == "kymo_c" else "viztracer"
    limits = {}
    if workload.python:
        limits["kymograph", "floor"] = (FLOOR_LIMIT, "Python calls, relative to the floor")
    if workload.name in PEER_WORKLOADS:
        calls = "all calls" if key == "kymo_c" else "Python calls"
        limits[key, peer] = (limit, f"{calls}, relative to VizTracer")
    result = {}
    for both, (most, what) in limits.items():
        ratio = times.ratio(*both)
        if ratio:
            spread = f"{ratio.low:.2f}..{ratio.high:.2f}"
            result[both] = Target(f"{workload.name}: {what}", ratio.median, most, "x", spread)
    if workload.program and "kymo_5" in times.rounds:
        slowdown = times.slowdown("kymo_5")
        spread = f"{slowdown.low:.2f}..{slowdown.high:.2f}"
        what = f"{workload.name}: slowdown with a budget of 5 %"
        result["kymo_5", "untraced"] = Target(what, slowdown.median, BUDGET_LIMIT, "x", spread)
    return result


def of_sessions(sessions: list[dict[str, Any]]) -> list[Target]:
    mib = 1 << 20
    result = []
    for session in sessions:
        budget = session["budget_bytes"] / mib
        with_budget = f"{session['calls'] / 1e6:.0f} million calls, budget {budget:.0f} MiB"
        result += [
            Target(
                f"{with_budget}: on disk, per call", session["bytes_per_call"], BYTES_LIMIT, " B"
            ),
            Target(f"{with_budget}: peak memory", session["peak_bytes"] / mib, budget, " MiB"),
            Target(f"{with_budget}: time to stop", session["stop_seconds"], STOP_LIMIT, " s"),
        ]
    return result
