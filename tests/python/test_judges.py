"""The programs that judge exports can be driven on any machine that has one of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from judges import TOOL, Browser

pytestmark = pytest.mark.native

BROWSERS = ["chromium-headless-shell", "chromium", "google-chrome"]


def test_these_are_the_browsers_that_are_looked_for() -> None:
    assert f"browsers=({' '.join(BROWSERS)})" in TOOL.read_text()


@pytest.mark.parametrize("name", BROWSERS)
def test_a_browser_needs_no_screen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"there is no {name}")
    for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)

    for dark in (False, True):
        browser = Browser(dark=dark, command=[path])
        try:
            browser.open("data:text/html,<title>a page</title>")
            assert browser.ask("document.title") == "a page"
            scheme = "matchMedia('(prefers-color-scheme: dark)').matches"
            assert browser.ask(scheme) is dark
        finally:
            browser.close()


def test_every_browser_is_started_without_a_screen(tmp_path: Path) -> None:
    """Also those that are not here: Chrome and Chromium open a window unless told not to."""
    given = tmp_path / "given"
    fake = tmp_path / "google-chrome"
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{given}\n')
    fake.chmod(0o755)

    with pytest.raises((AssertionError, BrokenPipeError)):
        Browser(command=[str(fake)])

    assert "--headless" in given.read_text().splitlines()
