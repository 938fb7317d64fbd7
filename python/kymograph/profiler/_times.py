"""Times and shares as text, and the fields that averages and events have in common."""

from __future__ import annotations

from kymograph.profiler._devices import DeviceType

_UNITS = {"s": 1_000_000.0, "ms": 1_000.0, "us": 1.0}


def format_time(us: float, unit: str | None = None) -> str:
    """Microseconds as "1.500ms"; `unit` is "s", "ms" or "us", or chosen to fit."""
    if unit is None:
        unit = "s" if us >= _UNITS["s"] else "ms" if us >= _UNITS["ms"] else "us"
    if unit not in _UNITS:
        raise ValueError(f"time_unit must be one of s, ms, us, not {unit!r}")
    return f"{us / _UNITS[unit]:.3f}{unit}"


def format_share(part: float, whole: float) -> str:
    """`part` of `whole` as "12.34%"."""
    if whole == 0:
        return "0.00%" if part == 0 else "NaN"
    return f"{part * 100.0 / whole:.2f}%"


def format_bytes(number: int) -> str:
    """Bytes as "1.50 MB", in units of 1024."""
    for size, unit in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if abs(number) >= size:
            return f"{number / size:.2f} {unit}"
    return f"{number} B"


def flops_unit(least: int) -> tuple[int, str]:
    """Return a divisor for numbers of FLOPs, the least of them `least`, and the unit it gives."""
    prefixes = ["", "K", "M", "G", "T", "P"]
    power = 0
    while least >= 1000 ** (power + 1) and power < len(prefixes) - 1:
        power += 1
    return 1000**power, f"{prefixes[power]}FLOPs"


class Times:
    """Fields derived from `cpu_time_total`, `self_cpu_time_total` and `count`.

    kymograph.profile does not record the work of devices; its fields exist and are 0, so that
    scripts that print them work.
    """

    count: int = 1
    cpu_time_total: float
    self_cpu_time_total: float

    device_time_total: float = 0.0
    self_device_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    device_memory_usage: int = 0
    self_device_memory_usage: int = 0
    flops: int = 0
    node_id: int = -1
    is_async: bool = False
    is_remote: bool = False
    is_legacy: bool = False
    use_device: str | None = None
    device_type: DeviceType = DeviceType.CPU
    overload_name: str = ""
    # Shares of all rows, once there was a table of them.
    self_cpu_percent: str | int = -1
    total_cpu_percent: str | int = -1
    total_device_percent: str | int = -1

    @property
    def cpu_time(self) -> float:
        """Microseconds of one call, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        return self.device_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)

    @property
    def device_time_str(self) -> str:
        return format_time(self.device_time)

    @property
    def device_time_total_str(self) -> str:
        return format_time(self.device_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        return format_time(self.self_device_time_total)

    # Older names, from before torch supported other devices.
    @property
    def cuda_time(self) -> float:
        return self.device_time

    @property
    def cuda_time_total(self) -> float:
        return self.device_time_total

    @property
    def self_cuda_time_total(self) -> float:
        return self.self_device_time_total

    @property
    def cuda_memory_usage(self) -> int:
        return self.device_memory_usage

    @property
    def self_cuda_memory_usage(self) -> int:
        return self.self_device_memory_usage

    @property
    def xpu_time(self) -> float:
        return self.device_time

    @property
    def xpu_time_total(self) -> float:
        return self.device_time_total

    @property
    def self_xpu_time_total(self) -> float:
        return self.self_device_time_total

    @property
    def xpu_memory_usage(self) -> int:
        return self.device_memory_usage

    @property
    def self_xpu_memory_usage(self) -> int:
        return self.self_device_memory_usage
