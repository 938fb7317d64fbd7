"""What is known before the start."""

import json

from torch.profiler import profile, record_function

prof = profile()
prof.preset_metadata_json("job", json.dumps({"name": "nightly"}))
prof.start()
with record_function("work"):
    pass
prof.stop()

prof.export_chrome_trace("trace.json")
with open("trace.json") as file:
    assert json.load(file)["job"] == {"name": "nightly"}
