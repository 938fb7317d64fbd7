#!/usr/bin/env python3
"""A page, its style and scripts as a C file.

    embed.py NAME OUT.c PAGE.html STYLE.css SCRIPT.js... [--with STYLE.css SCRIPT.js...]

The page's policy names the hashes of its style and its script: a browser runs nothing else on it,
whatever the data holds. --with is for a page that has another one inside: its policy also names
the hashes of that one, which follows the data. OUT.c defines what comes before the data, what comes
after it, between the two what comes before the page inside, and the policy as a server sends it, as
pages.h declares them.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from pathlib import Path

LINE = 90


def literal(data: bytes) -> str:
    """A C string literal, over several lines."""
    known = {0x22: '\\"', 0x5C: "\\\\", 0x0A: "\\n", 0x3F: "\\?"}
    lines, line = [], ""
    for byte in data:
        line += known.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}")
        if byte == 0x0A or len(line) > LINE:
            lines.append(line)
            line = ""
    return "\n    ".join(f'"{text}"' for text in [*lines, line])


def policy(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def read_parts(style: str, scripts: list[str]) -> tuple[str, str]:
    """The style and the script of a page, as they are in it."""
    css = Path(style).read_text("utf-8")
    code = "".join(Path(script).read_text("utf-8") for script in scripts)
    code = f'"use strict";\n(() => {{\n{code}}})();\n'
    for text, end in ((css, "</style"), (code, "</script"), (code, "<!--")):
        if end in text.lower():
            sys.exit(f"embed.py: {end} would end what it is in")
    return css, code


def main(name: str, output: str, page: str, style: str, *rest: str) -> None:
    scripts, inside = list(rest), []
    if "--with" in scripts:
        at = scripts.index("--with")
        scripts, inside = scripts[:at], scripts[at + 1 :]
    css, code = read_parts(style, scripts)
    parts = {
        "SCRIPT_HASH": policy(code),
        "STYLE_HASH": policy(css),
        "SCRIPT": code,
        "STYLE": css,
    }
    if inside:
        css, code = read_parts(inside[0], inside[1:])
        parts["SCRIPT_HASH"] += " " + policy(code)
        parts["STYLE_HASH"] += " " + policy(css)
    whole = Path(page).read_text("utf-8")
    for place, part in parts.items():
        if whole.count(f"@{place}@") != 1:
            sys.exit(f"embed.py: {page} must have one @{place}@")
        before, after = whole.split(f"@{place}@")
        whole = before + part + after
    before, after = whole.split("@DATA@")
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', whole)
    if not found:
        sys.exit(f"embed.py: {page} has no policy")
    between, _, rest_of_page = after.rpartition("@INSIDE@")
    after = rest_of_page if inside else between + rest_of_page
    header = found[1] + "; frame-ancestors 'none'"
    texts = {"before": before, "after": after, "policy": header}
    if inside:
        texts["between"] = between
    Path(output).write_text(
        "/* Made by embed.py; not to be edited. */\n"
        '#include "pages.h"\n'
        + "".join(
            f"\nconst char kymo__{name}_{what}[] =\n    {literal(text.encode())};\n"
            for what, text in texts.items()
        ),
        "ascii",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
