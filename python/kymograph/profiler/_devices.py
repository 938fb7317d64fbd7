"""Kinds of devices, numbered as torch numbers them."""

from __future__ import annotations

import enum


class DeviceType(enum.Enum):
    """Where something ran."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20


_NAMES = {each.value: each.name.lower() for each in DeviceType}
_NAMES[DeviceType.PrivateUse1.value] = "privateuseone"  # as torch prints it


def name_of(kind: int, index: int) -> str:
    """Return the name of a device as operators have it: "cpu", "cuda:0"."""
    name = _NAMES.get(kind, str(kind))
    return name if kind == DeviceType.CPU.value else f"{name}:{max(index, 0)}"


def parse(device: str) -> str:
    """Return the name of the device that the text means. Raises ValueError if it means none."""
    name, _, index = str(device).partition(":")
    kind = next((each for each, known in _NAMES.items() if known == name), None)
    if kind is None or (index and not index.isdecimal()):
        raise ValueError(f"device should be like 'cpu' or 'cuda:0', got {str(device)!r}")
    return name_of(kind, int(index or 0))


def kineto_available() -> bool:
    """True: programs ask this to know whether they can profile."""
    return True
