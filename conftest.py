"""What holds for all tests."""

import signal

from hypothesis import settings

# A shell that runs us in the background has interrupts ignored, and so would all that we run.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says more about the machine than about the code.
settings.register_profile("any_machine", deadline=None)
settings.load_profile("any_machine")
