"""Clean up when a signal ends the process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

from polars_rank._files.temporary import end_live

SIGNALS = ("SIGTERM", "SIGHUP")


def clean_on_signals() -> None:
    """Remove temporary files when the process is ended by SIGTERM or SIGHUP.

    Without this call they stay until the next evaluation finds them. The exit status is
    143 or 129, as shells report these signals. With ``temp_dir=``, files from which an
    interrupted evaluation can resume are kept.

    Signals that the program handles or ignores are left to it. Call it once, from the
    main thread, like ``signal.signal``.

    Notes
    -----
    A handler in Python would have to wait until Polars returns. So the number of the
    signal goes to a thread, by ``signal.set_wakeup_fd``.

    Examples
    --------
    >>> from polars_rank import io
    >>> io.clean_on_signals()  # at the start of the program  # doctest: +SKIP
    """
    if os.name != "posix":
        return
    numbers = [getattr(signal, name) for name in SIGNALS]
    free = [n for n in numbers if signal.getsignal(n) == signal.SIG_DFL]
    if not free:
        return
    watch = _Watch(free)
    watch.take()
    os.register_at_fork(before=watch.leave, after_in_parent=watch.take)


class _Watch:
    """Ends the process at a signal, unless the program handles it meanwhile."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = numbers
        self.pipe = signal.set_wakeup_fd(-1)
        if self.pipe == -1:  # else an event loop has it: our handlers wait for Polars
            read, self.pipe = os.pipe()
            os.set_blocking(self.pipe, False)
            threading.Thread(target=self._listen, args=(read,), daemon=True).start()

    def take(self) -> None:
        """Start to receive the signals."""
        if threading.current_thread() is threading.main_thread():
            for number in self.numbers:
                if signal.getsignal(number) == signal.SIG_DFL:
                    signal.signal(number, _end)
            signal.set_wakeup_fd(self.pipe, warn_on_full_buffer=False)

    def leave(self) -> None:
        """Stop receiving before a fork, or the child's signals would reach the pipe."""
        if threading.current_thread() is threading.main_thread():
            self.pipe = signal.set_wakeup_fd(-1)
            for number in self.numbers:
                if signal.getsignal(number) is _end:
                    signal.signal(number, signal.SIG_DFL)

    def _listen(self, read: int) -> None:
        while True:
            for number in os.read(read, 1):
                if signal.getsignal(number) is _end:
                    _end(number, None)


def _end(number: int, _: FrameType | None) -> None:
    end_live()
    if sys.stderr is not None and sys.stderr.isatty():
        os.write(2, b"\x1b[?25h")  # a progress bar hides the cursor
    os._exit(128 + number)
