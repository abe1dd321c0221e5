"""Ctrl-C at every place of a call at which Python looks for signals."""

import dis
import sys
from collections.abc import Callable, Collection
from inspect import CO_GENERATOR
from types import CodeType, FrameType
from typing import Any

__all__ = ["interrupted"]


def interrupted(call: Callable[[], Any], place: int, modules: Collection[str]) -> bool:
    """Makes a call, and raises KeyboardInterrupt at one of its places.

    Places are those where a function of some modules begins, and those after each call that it
    makes has come back: Python handles signals there.

    Parameters
    ----------
    call : callable
    place : int
        From 0 on.
    modules : collection of str
        Names of modules of the package.

    Returns
    -------
    bool
        False where the call has no such place, so that it was made without an interrupt.
    """
    left = place

    def interrupt() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            sys.settrace(None)
            raise KeyboardInterrupt

    def each_step(frame: FrameType, event: str, given: Any) -> Any:
        if event == "opcode":
            if called.get(frame):
                called[frame] = False
                interrupt()
            called[frame] = frame.f_lasti in _calls(frame.f_code)
        elif event == "exception":
            called[frame] = False
        elif event == "return":
            called.pop(frame, None)
        return each_step

    def each_function(frame: FrameType, event: str, given: Any) -> Any:
        if frame.f_globals.get("__name__") not in modules:
            return None
        frame.f_trace_opcodes = True
        if not frame.f_code.co_flags & CO_GENERATOR:  # else it may be entered to be closed
            interrupt()
        return each_step

    called: dict[FrameType, bool] = {}
    before = sys.gettrace()
    try:
        sys.settrace(each_function)
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


_found: dict[CodeType, frozenset[int]] = {}


def _calls(code: CodeType) -> frozenset[int]:
    """Where the calls of a function stand in its code."""
    if code not in _found:
        steps = dis.get_instructions(code)
        names = ("CALL", "CALL_KW", "CALL_FUNCTION_EX")
        _found[code] = frozenset(step.offset for step in steps if step.opname in names)
    return _found[code]
