"""Activities that are none are refused when the profiler is made."""

from torch.profiler import ProfilerActivity, profile


def refusal(activities):
    try:
        profile(activities=activities)
    except Exception as error:
        return type(error).__name__
    return "nothing"


assert refusal([]) == "AssertionError"
assert refusal([ProfilerActivity.CPU, ProfilerActivity.CPU]) in ("ValueError", "nothing")
assert refusal(["CPU"]) in ("TypeError", "AttributeError", "ValueError")
