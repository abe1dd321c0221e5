"""The peak memory of one call.

Linux keeps the highest resident size of a process (VmHWM) and can set this mark back to the present
size, so that the peak of a single call is seen, in whichever process it runs. Large arrays are
mapped by the allocator from scratch and returned at once; memory below its mapping threshold (at
most 32 MiB) may be reused without showing. Elsewhere nothing is measured, and the report says so.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["HOW", "PeakMeter", "resident"]

HOW = (
    "Peak memory is the highest resident size during the call above the resident size before it "
    "(the kernel's mark, VmHWM, set back before the call)."
)
STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
SET_MARK_BACK = "5"


def _status(name: str) -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{STATUS} has no field {name}")


def resident() -> int:
    """The resident size of this process, in bytes."""
    return _status("VmRSS")


class PeakMeter:
    """Measures the peak memory of the calls between `start` and `stop`, in bytes."""

    def __init__(self) -> None:
        self._before = 0
        try:
            CLEAR.write_text(SET_MARK_BACK)
            _status("VmHWM")
        except OSError:
            self.works = False
        else:
            self.works = True

    def start(self) -> None:
        """Sets the mark back."""
        if self.works:
            CLEAR.write_text(SET_MARK_BACK)
            self._before = resident()

    def stop(self) -> int | None:
        """Bytes above the size at `start`; None where the system does not tell."""
        if not self.works:
            return None
        return max(0, _status("VmHWM") - self._before)
