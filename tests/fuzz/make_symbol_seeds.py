"""Make the seeds of the fuzz targets that read ELF files, line programs and jitdumps.

    tests/fuzz/make_symbol_seeds.py

It needs gcc, clang and objcopy, and is run by hand; what it makes is kept in the tree.
"""

from __future__ import annotations

import struct
import subprocess
import tempfile
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"

SOURCE = """
static inline __attribute__((always_inline)) int inner(int a, int b)
{
    return a > 9 ? a / b : a * b;
}
static inline __attribute__((always_inline)) int middle(int *p, int n)
{
    return inner(p[0], n) + inner(n, p[1]);
}
struct pair { int a, b; };
int outer(int *p, int n)
{
    if (__builtin_expect(n < 0, 0))
        return middle(p, 3);
    return middle(p, n) * 2;
}
int other(struct pair *q) { return inner(q->a, q->b); }
"""

KINDS = {
    "gcc2": ["gcc", "-gdwarf-2", "-gstrict-dwarf"],
    "gcc4": ["gcc", "-gdwarf-4", "-ffunction-sections"],
    "gcc5": ["gcc", "-gdwarf-5", "-ffunction-sections"],
    "gcc5z": ["gcc", "-gdwarf-5", "-gz"],
    "clang4": ["clang", "-gdwarf-4", "-ffunction-sections"],
    "clang5": ["clang", "-gdwarf-5", "-ffunction-sections"],
}


RUST = {
    "path": "NvNtNtCsfEOYDRpO4Ta_11miniz_oxide7inflate4core10decompress",
    "shim": "NSNvYNCINvNtCs1_3std2rt10lang_startuE0INtC1o6FnOnceuE9call_once6vtableC1r",
    "const": "NvMNtCs1_4core6escapeINtB2_15EscapeIterInnerKja_NtB2_12MaybeEscapedE7to_char",
    "types": "INvC1a1fRLpQhPlOcAhj3_SeTlhEFKCdEuDNtC1a1TEL_ReE",
    "bound": "INvC1a1fFG_RL0_eEuE",
}


def section(path: Path, name: str) -> bytes:
    out = path.with_suffix(".section")
    flags = ["--only-section", name, "--set-section-flags", f"{name}=alloc"]
    subprocess.run(["objcopy", "-O", "binary", *flags, path, out], check=True)
    return out.read_bytes()


def perf_files() -> dict[str, bytes]:
    name = b"py::f:x.py\0"
    code = b"\x90" * 8
    body = struct.pack("<IIQQQQ", 1, 1, 0x5000, 0x5000, len(code), 1) + name + code
    load = struct.pack("<IIQ", 0, 16 + len(body), 1) + body
    body = struct.pack("<QQ", 0x5000, 2)
    body += struct.pack("<QII", 0x5000, 3, 0) + b"x.py\0"
    body += struct.pack("<QII", 0x5004, 4, 0) + b"\xff\0"
    lines = struct.pack("<IIQ", 2, 16 + len(body), 1) + body
    body = struct.pack("<IIQQQQQ", 1, 1, 0x5000, 0x5000, 0x6000, 8, 1)
    move = struct.pack("<IIQ", 1, 16 + len(body), 1) + body
    head = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 1, 0, 0)
    return {
        "map": b"7f0000001000 40 py::main:/x/y.py\n7f0000001020 10 inner\nbad line\n",
        "dump": head + lines + load + move,
    }


def main() -> None:
    for target in ("fuzz_elf", "fuzz_dwarf", "fuzz_lines", "fuzz_generated", "fuzz_rustname"):
        (CORPUS / target).mkdir(parents=True, exist_ok=True)
    for name, data in perf_files().items():
        (CORPUS / "fuzz_generated" / name).write_bytes(data)
    for name, mangled in RUST.items():
        (CORPUS / "fuzz_rustname" / name).write_text(mangled)
    with tempfile.TemporaryDirectory() as where:
        source = Path(where, "seed.c")
        source.write_text(SOURCE)
        for kind, (compiler, *flags) in KINDS.items():
            path = Path(where, kind)
            flags += ["-shared", "-fPIC", "-nostdlib", "-Wl,-z,noseparate-code"]
            flags += [f"-fdebug-prefix-map={where}=/seed"]
            command = [compiler, "-O2", *flags, "-o", str(path), str(source)]
            subprocess.run(command, cwd=where, check=True)
            (CORPUS / "fuzz_dwarf" / kind).write_bytes(path.read_bytes())
            if not kind.endswith("z"):
                version = int(kind[-1])
                lines = section(path, ".debug_line")
                (CORPUS / "fuzz_lines" / kind).write_bytes(bytes([8 | (version - 2)]) + lines)
            subprocess.run(["strip", "-g", path], check=True)
            (CORPUS / "fuzz_elf" / kind).write_bytes(path.read_bytes())


if __name__ == "__main__":
    main()
