"""Make the seeds of the fuzz targets from the golden files; needs the zstd program.

    python tests/fuzz/make_seeds.py [build/main/tests/programs/heap_history]

With that program, which records memory events, also those of fuzz_heap. What an input looks like is
told in fuzz_reader.c, fuzz_decode.c and fuzz_notes.c.
"""

import pathlib
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE.parent / "golden"
FILE_HEADER, BLOCK_HEADER, LIVE_HEADER, CHUNK = 128, 64, 80, 65536
RESERVED = 96  # where the file header's reserved bytes begin
RECORDS, INDEX, COPY, SUMMARY, NOTES = 1, 3, 4, 5, 7
PARTS = 1 << 31


def unpack(frame: bytes) -> bytes:
    return subprocess.run(["zstd", "-dcq"], input=frame, capture_output=True, check=True).stdout


def blocks(capture: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each block's header and its payload before compression."""
    at = FILE_HEADER
    while capture[at : at + 4] == b"KYBK":
        header = capture[at : at + BLOCK_HEADER]
        stored = struct.unpack_from("<I", header, 12)[0]
        begin = at + BLOCK_HEADER
        yield header, unpack(capture[begin : begin + stored])
        at = (begin + stored + 7) & ~7


def capture_parts(capture: bytes) -> bytes:
    return capture[:FILE_HEADER] + b"".join(header + payload for header, payload in blocks(capture))


def live_parts(live: bytes) -> bytes:
    slots, gap_offset, chunk_offset = (
        struct.unpack_from("<I", live, 40)[0],
        *struct.unpack_from("<QQ", live, 48),
    )
    gaps = [live[gap_offset + 32 * i :][:32] for i in range(slots)]
    gaps = [gap for gap in gaps if any(gap)]
    parts = live[:LIVE_HEADER] + bytes([len(gaps)]) + b"".join(gaps)
    for at in range(chunk_offset, len(live), CHUNK):
        chunk = live[at : at + CHUNK]
        if any(chunk[:4]):
            content = chunk[64:].rstrip(b"\0")
            content += bytes(-len(content) % 16)
            parts += chunk[:64] + struct.pack("<H", len(content)) + content
    return parts


def save(target: str, name: str, data: bytes | bytearray) -> None:
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def notes_seed(header: bytes, payload: bytes) -> bytes:
    tokens = struct.unpack_from("<I", header, 56)[0]
    values = int.from_bytes(header[9:12], "little")
    return struct.pack("<HH", tokens, len(payload) - tokens - values) + payload


def heap_seeds(program: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        for name, *count in (("few",), ("live",), ("many", "300")):
            path = pathlib.Path(directory, name)
            subprocess.run([program, path, name, *count], check=True)
            capture = path.read_bytes()
            parts = capture_parts(capture)
            save("fuzz_heap", f"{name}-plain", struct.pack("<I", len(capture)) + capture)
            save("fuzz_heap", f"{name}-parts", struct.pack("<I", PARTS | len(parts)) + parts)
            for i, (header, payload) in enumerate(blocks(capture)):
                if header[8] == NOTES:
                    save("fuzz_notes", f"{name}-{i}", notes_seed(header, payload))


def main() -> None:
    for program in sys.argv[1:]:
        heap_seeds(program)
    for name in (
        "v1",
        "v1-killed",
        "v1.2-sampled-calls",
        "v1.3-args",
        "v1.4-payloads",
        "v1.4-summaries",
        "v1.5-memory",
    ):
        capture = (GOLDEN / f"{name}.kymo").read_bytes()
        save("fuzz_reader", f"{name}-plain", struct.pack("<I", len(capture)) + capture)
        parts = capture_parts(capture)
        live = GOLDEN / f"{name}.kymo.live.zst"
        rest = live_parts(unpack(live.read_bytes())) if live.exists() else b""
        seed = bytearray(struct.pack("<I", PARTS | len(parts)) + parts + rest)
        save("fuzz_reader", f"{name}-parts", seed)
        if rest:
            seed[4 + RESERVED] |= 1  # as if its process were still recording
            save("fuzz_reader", f"{name}-running", seed)
        for i, (header, payload) in enumerate(blocks(capture)):
            tokens = struct.unpack_from("<I", header, 56)[0]
            if header[8] == SUMMARY:
                save("fuzz_summary", f"{name}-{i}", payload)
            elif header[8] == NOTES:
                save("fuzz_notes", f"{name}-{i}", notes_seed(header, payload))
            elif header[8] not in (INDEX, COPY) and tokens < 1 << 16:
                seed = struct.pack("<H", tokens if header[8] == RECORDS else 0) + payload
                save("fuzz_decode", f"{name}-{i}", seed)


if __name__ == "__main__":
    main()
