"""Every action of a schedule, step by step."""

from torch.profiler import ProfilerAction, schedule

letters = {
    ProfilerAction.NONE: ".",
    ProfilerAction.WARMUP: "w",
    ProfilerAction.RECORD: "r",
    ProfilerAction.RECORD_AND_SAVE: "S",
}


def line(count, **arguments):
    plan = schedule(**arguments)
    return "".join(letters[plan(step)] for step in range(count))


assert line(10, wait=1, warmup=1, active=3) == ".wrrS.wrrS"
assert line(8, wait=0, warmup=1, active=1) == "wSwSwSwS"
assert line(9, wait=2, warmup=1, active=2, repeat=1) == "..wrS...."
assert line(9, wait=1, warmup=2, active=1, skip_first=4) == "....." + "wwS."
assert line(6, wait=0, warmup=2, active=1, repeat=2) == "wwSwwS"
