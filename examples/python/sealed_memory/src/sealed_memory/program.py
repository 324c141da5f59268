"""Where the driver's program lies, and what is missing where it cannot be started."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .errors import DriverError

_PROGRAM = "sealed-memory"
_NODE = "Node.js 22.13 or newer"


def find_program(cwd: str | os.PathLike[str] | None = None, path: str | None = None) -> list[str]:
    """How the driver is started unless said otherwise: the program of the project, or else the one on ``PATH``.

    Looks into ``node_modules/.bin`` of the folder and of those above it, as npm does. ``path`` stands in for ``PATH``.
    Raises ``DriverError`` (``driver_missing``), which says what to install, where there is no program or no Node.js.
    """
    folder = Path.cwd() if cwd is None else Path(cwd).absolute()
    own = (shutil.which(_PROGRAM, path=str(each / "node_modules" / ".bin")) for each in (folder, *folder.parents))
    program = next((found for found in own if found), None) or shutil.which(_PROGRAM, path=path)
    if shutil.which("node", path=path) is None:
        raise _missing(f"There is no Node.js on PATH: install {_NODE}, from https://nodejs.org or your system's packages")
    if program is None:
        raise _missing(
            f"There is no program {_PROGRAM}, neither in node_modules/.bin of {folder} and the folders above it, nor on"
            " PATH: install the npm package sealed-memory in the folder of your project, or say with `command` how"
            " the program is started"
        )
    return [program]


def _missing(why: str) -> DriverError:
    return DriverError(f"The driver could not be started. {why}.", "driver_missing")
