"""`check-et`: checks an execution trace for the native `kymograph check et FILE [TIMELINE]`."""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MOST = 20  # mistakes to print
PROCESS, THREAD = (f"[pytorch|profiler|execution_trace|{what}]" for what in ("process", "thread"))
SCHEMAS = (
    *("1.0.2-chakra.0.0.4", "1.0.3-chakra.0.0.4", "1.0.4-chakra.0.0.4", "1.1.0-chakra.0.0.4"),
    "1.1.1-chakra.0.0.4",
)
LISTS = ("values", "shapes", "types", "strides")
TENSOR = 6  # numbers and texts that a tensor has


class Refused(Exception):
    """Why the check is impossible; the text is the message to print."""


def load(path: str) -> Any:
    """Return the JSON in `path`, compressed or not. Raises Refused."""
    try:
        with open(path, "rb") as file:
            start = file.read(5)
        packed = start[:2] == b"\x1f\x8b"
        if start == b"\x89KYMO":
            raise Refused(
                f"{path}: this is a capture; write an execution trace with 'kymograph export --to "
                "et', and check that"
            )
        with gzip.open(path, "rb") if packed else open(path, "rb") as file:
            return json.load(file)
    except EOFError:
        raise Refused(f"{path}: the compressed file ends too early") from None
    except OSError as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Refused(f"{path}: {reason}") from None
    except UnicodeDecodeError:
        raise Refused(
            f"{path}: this is not text; an execution trace is a JSON file, as 'kymograph export "
            "--to et' writes it"
        ) from None
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path}: not valid JSON: {error}") from None


class Trace:
    """An execution trace; `mistakes` is what is wrong with it."""

    def __init__(self, content: Any) -> None:
        self.mistakes: list[str] = []
        self.nodes: dict[int, dict[str, Any]] = {}
        self.rf_ids: dict[int, int] = {}  # to node ids
        self.tensors: dict[int, tuple[str, int]] = {}  # type, and where it was first met
        self.storages: dict[int, tuple[str, int]] = {}  # device, and the same
        if not isinstance(content, dict) or not isinstance(content.get("nodes"), list):
            raise Refused("not an execution trace: it has no list 'nodes'")
        if content.get("schema") not in SCHEMAS:
            raise Refused(f"unknown schema {content.get('schema')!r}")
        for key in ("pid", "start_ts", "finish_ts"):
            if type(content.get(key)) is not int:
                self.mistakes.append(f"{key!r} is not a number")
        for node in content["nodes"]:
            self.add(node)
        self.check_dependencies()
        for node in self.nodes.values():
            self.check_values(node, "inputs")
            self.check_values(node, "outputs")
            self.check_complete(node)
        self.check_ids()

    def add(self, node: Any) -> None:
        if not isinstance(node, dict) or type(node.get("id")) is not int:
            self.mistakes.append(f"a node has no id: {json.dumps(node)[:60]}")
        elif node["id"] in self.nodes:
            self.mistakes.append(f"two nodes have the id {node['id']}")
        elif not isinstance(node.get("name"), str):
            self.mistakes.append(f"node {node['id']} has no name")
        else:
            self.nodes[node["id"]] = node
            self.add_rf_id(node)

    def add_rf_id(self, node: dict[str, Any]) -> None:
        rf_id = attribute(node, "rf_id")
        if node["name"] in (PROCESS, THREAD):
            return
        if type(rf_id) is not int:
            self.mistakes.append(f"node {node['id']} has no rf_id")
        elif rf_id in self.rf_ids:
            self.mistakes.append(
                f"nodes {self.rf_ids[rf_id]} and {node['id']} have the same rf_id, {rf_id}"
            )
        else:
            self.rf_ids[rf_id] = node["id"]

    def check_dependencies(self) -> None:
        roots = [id for id, node in self.nodes.items() if node["name"] == PROCESS]
        if roots != [1]:
            self.mistakes.append(f"the process must be node 1; it is {roots or 'missing'}")
        ends_at_root = {1}
        for id, node in self.nodes.items():
            path: dict[int, None] = {}
            at: Any = id
            while at not in ends_at_root and at not in path and at in self.nodes:
                path[at] = None
                at = self.nodes[at].get("ctrl_deps")
            if at in path:
                self.mistakes.append(f"node {id} depends on itself, through its parents")
            elif at not in self.nodes:
                child = next(reversed(path), id)
                self.mistakes.append(f"node {child}: its parent {at} does not exist")
            ends_at_root.update(path)
            forward = attribute(node, "fw_parent")
            if forward and forward not in self.nodes:
                self.mistakes.append(f"node {id}: its forward parent {forward} does not exist")

    def check_values(self, node: dict[str, Any], key: str) -> None:
        lists = node.get(key)
        where = f"node {node['id']}: {key}"
        if not isinstance(lists, dict) or any(
            not isinstance(lists.get(name, []), list) for name in LISTS
        ):
            self.mistakes.append(f"{where} are not lists of values, shapes, types and strides")
            return
        values, types = lists.get("values", []), lists.get("types", [])
        for name in LISTS:
            if name in lists and len(lists[name]) != len(values):
                self.mistakes.append(
                    f"{where} have {len(values)} values and {len(lists[name])} {name}"
                )
                return
        for value, type_ in zip(values, types, strict=True):
            if not self.check_value(node["id"], value, type_):
                self.mistakes.append(f"{where}: {json.dumps(value)[:60]} is not a {type_}")

    def check_complete(self, node: dict[str, Any]) -> None:
        missing = attribute(node, "incomplete")
        if missing:
            self.mistakes.append(
                f"node {node['id']}, {node['name']!r}: not all of its {missing} were recorded"
            )

    def check_value(self, node: int, value: Any, type_: Any) -> bool:
        if not isinstance(type_, str):
            return False
        if type_.startswith("Tensor("):
            return self.check_tensor(node, value, type_)
        inner = elements(type_)
        if inner is None:
            return True
        return (
            isinstance(value, list)
            and len(value) == len(inner)
            and all(self.check_value(node, *pair) for pair in zip(value, inner, strict=True))
        )

    def check_tensor(self, node: int, value: Any, type_: str) -> bool:
        if not isinstance(value, list) or len(value) != TENSOR:
            return False
        *numbers, device = value
        if any(type(number) is not int for number in numbers) or not isinstance(device, str):
            return False
        tensor, storage = numbers[:2]
        if tensor:
            known, first = self.tensors.setdefault(tensor, (type_, node))
            if known != type_:
                self.mistakes.append(
                    f"tensor {tensor} is {known} in node {first} and {type_} in node {node}"
                )
        if storage:
            known, first = self.storages.setdefault(storage, (device, node))
            if known != device:
                self.mistakes.append(
                    f"storage {storage} is on {known} in node {first}, on {device} in node {node}"
                )
        return True

    def check_ids(self) -> None:
        kinds: dict[str, set[int]] = {
            "a node": set(self.nodes),
            "a tensor": set(self.tensors),
            "a storage": set(self.storages),
        }
        names = list(kinds)
        for i, first in enumerate(names):
            for second in names[i + 1 :]:
                for id in sorted(kinds[first] & kinds[second]):
                    self.mistakes.append(f"{id} is the id of {first} and of {second}")

    def check_timeline(self, found: set[int]) -> None:
        for rf_id, node in self.rf_ids.items():
            if rf_id not in found:
                name = self.nodes[node]["name"]
                self.mistakes.append(
                    f"node {node}, {name!r}: its rf_id {rf_id} is not in the timeline"
                )


def attribute(node: dict[str, Any], name: str) -> Any:
    """Return the value of an attribute of `node`, or None."""
    for one in node.get("attrs", ()):
        if isinstance(one, dict) and one.get("name") == name:
            return one.get("value")
    return None


def elements(type_: str) -> list[str] | None:
    """Return the types of the elements of a list or tuple, or None for anything else."""
    for head in ("GenericList[", "Tuple["):
        if type_.startswith(head) and type_.endswith("]"):
            return list(split(type_[len(head) : -1]))
    return None


def split(types: str) -> Iterator[str]:
    """Split at the commas that are not in brackets."""
    depth, start = 0, 0
    for i, letter in enumerate(types):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            yield types[start:i]
            start = i + 1
    if types:
        yield types[start:]


def rf_ids_of(path: str) -> set[int]:
    """Return the record-function ids of the operators in a Chrome trace. Raises Refused."""
    content = load(path)
    events = content.get("traceEvents") if isinstance(content, dict) else content
    if not isinstance(events, list):
        raise Refused(f"{path}: neither a capture nor a Chrome trace")
    return {
        event["args"]["Record function id"]
        for event in events
        if isinstance(event, dict) and "Record function id" in (event.get("args") or {})
    }


def rf_ids_of_timeline(path: str) -> set[int]:
    """The same for a capture or a Chrome trace."""
    import kymograph

    try:
        capture = kymograph.open(path)
    except (OSError, ValueError):
        return rf_ids_of(path)
    with capture, tempfile.TemporaryDirectory() as directory:
        chrome = str(Path(directory) / "timeline.json")
        capture.export(chrome, "chrome")
        return rf_ids_of(chrome)


def say(message: str) -> None:
    """Print `message` on one line of stderr; control characters do not reach the terminal."""
    line = "".join(letter if letter.isprintable() else "\ufffd" for letter in message)
    print(f"kymograph: {line}", file=sys.stderr)


def run(arguments: list[str]) -> int:
    """Check the execution trace in the first file, with the timeline in the second, if given."""
    path = arguments[0]
    try:
        trace = Trace(load(path))
    except Refused as refused:
        reason = str(refused)
        say(reason if reason.startswith(path) else f"{path}: {reason}")
        return 2
    try:
        if len(arguments) > 1:
            trace.check_timeline(rf_ids_of_timeline(arguments[1]))
    except Refused as refused:
        say(str(refused))
        return 2
    for mistake in trace.mistakes[:MOST]:
        say(f"{path}: {mistake}")
    if len(trace.mistakes) > MOST:
        say(f"{path}: and {len(trace.mistakes) - MOST} more mistakes")
    if trace.mistakes:
        return 1
    threads = sum(node["name"] == THREAD for node in trace.nodes.values())
    counts = (
        (len(trace.rf_ids), "operator"),
        (threads, "thread"),
        (len(trace.tensors), "tensor"),
        (len(trace.storages), "storage"),
    )
    words = ", ".join(f"{count} {word}{'s' * (count != 1)}" for count, word in counts)
    print(f"{path}: {words}; no mistakes")
    return 0
