"""Make the seeds of fuzz_ehframe from the files named, which are ELF files of 64 bits.

    python tests/fuzz/make_ehframe_seeds.py /lib/x86_64-linux-gnu/libc.so.6 ...

Of each, some functions are taken, with the header that such a function alone would have.
"""

import pathlib
import struct
import sys

FOLDER = pathlib.Path(__file__).parent / "corpus" / "fuzz_ehframe"
HEADER_SIZE = 20
EVERY = 997  # functions
GNU_EH_FRAME = 0x6474E550


def segments(elf: bytes) -> list[tuple[int, int, int]]:
    """Type, offset in the file and address of each segment."""
    at, size, count = struct.unpack_from("<Q", elf, 32)[0], *struct.unpack_from("<HH", elf, 54)
    found = []
    for i in range(count):
        kind, _, offset, address = struct.unpack_from("<IIQQ", elf, at + i * size)
        found.append((kind, offset, address))
    return found


def entry(elf: bytes, at: int) -> bytes:
    return elf[at : at + 4 + struct.unpack_from("<I", elf, at)[0]]


def seed(elf: bytes, header: int, function: int, fde_at: int) -> bytes:
    """FUNCTION and FDE_AT are relative to the header."""
    fde = bytearray(entry(elf, header + fde_at))
    cie_at = header + fde_at + 4 - struct.unpack_from("<I", fde, 4)[0]
    cie = entry(elf, cie_at)
    place = HEADER_SIZE + len(cie)
    struct.pack_into("<Ii", fde, 4, len(cie) + 4, function - place - 8)
    table = struct.pack("<4siIii", b"\x01\x1b\x03\x3b", HEADER_SIZE - 4, 1, function, place)
    return struct.pack("<HI", 0, function + len(fde)) + table + cie + fde


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:]:
        elf = pathlib.Path(name).read_bytes()
        header = next(offset for kind, offset, _ in segments(elf) if kind == GNU_EH_FRAME)
        count = struct.unpack_from("<I", elf, header + 8)[0]
        for i in range(0, count, EVERY):
            function, fde_at = struct.unpack_from("<ii", elf, header + 12 + 8 * i)
            function &= 0x7FFFFFFF
            (FOLDER / f"{pathlib.Path(name).name}-{i}").write_bytes(
                seed(elf, header, function, fde_at)
            )


if __name__ == "__main__":
    main()
