"""One vocabulary: the words for numbers come from the library, whoever prints them."""

from __future__ import annotations

from kymograph import _core


def test_the_library_gives_the_words() -> None:
    words = _core.words()

    assert words["kind"][:4] == ["unknown", "enter", "leave", "instant"]
    assert words["kind"][-1] == "payload"
    assert words["class"] == [
        *("span", "function", "native", "method", "type", "callable", "gc", "wait", "operator")
    ]
    assert words["enter"] == ["call", "resume", "throw", "open"]
    assert words["leave"] == ["return", "yield", "unwind"]
    assert words["gap"][:2] == ["unknown", "budget"]
    assert words["sample"] == ["cpu", "wall"]
