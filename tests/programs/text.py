"""Work done in C: strings, regular expressions, JSON, sorting."""

import json
import re

words = re.findall(r"[a-z]+", "the quick brown fox jumps over the lazy dog and the cat" * 20)
counts = {}
for word in words:
    counts[word] = counts.get(word, 0) + 1
ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
text = json.dumps(ranked, indent=1, default=str)
assert [tuple(pair) for pair in json.loads(text)] == ranked
print(text.count("\n"), re.sub(r"(o)(\w)", lambda m: m.group(2) + m.group(1), "fox over dog"))
print(
    "|".join(word.upper().center(9, ".") for word, _ in ranked[:3]), bytes(range(65, 70)).decode()
)
