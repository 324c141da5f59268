"""Claude's memory tool and sessions, encrypted on the client.

The memory itself is a program of Node.js, ``sealed-memory``; each object here starts one as a child process. Where a
memory lies, whose it is and which key opens it is told by the program's own settings: its environment variables, or
the file ``.env`` that ``sealed-memory init`` writes.

``SealedMemoryTool`` and ``SealedAsyncMemoryTool`` need the package ``anthropic``, ``SealedSessionStore`` needs
``claude-agent-sdk``; each is asked for by the class that needs it alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .errors import DriverError, SealedMemoryError
from .program import find_program

if TYPE_CHECKING:
    from .memory_tool import SealedAsyncMemoryTool, SealedMemoryTool
    from .session_store import SealedSessionStore

__all__ = [
    "DriverError",
    "SealedAsyncMemoryTool",
    "SealedMemoryError",
    "SealedMemoryTool",
    "SealedSessionStore",
    "find_program",
]

_MODULES = {
    "SealedAsyncMemoryTool": "memory_tool",
    "SealedMemoryTool": "memory_tool",
    "SealedSessionStore": "session_store",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{module}", __name__), name)
