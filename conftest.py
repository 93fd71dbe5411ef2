"""What holds for all tests."""

import signal

# A shell that runs us in the background has interrupts ignored, and so would all that we run.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
