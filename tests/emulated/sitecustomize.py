"""For tools/cross.sh: the interpreter is started by a script, because an emulator must run it."""

import os
import sys

if "KYMO_EMULATOR" in os.environ:
    sys.executable = os.environ["KYMO_EMULATOR"]
