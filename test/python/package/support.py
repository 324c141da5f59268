"""What the tests share: how the driver is started, and memories of their own."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

COMMAND: list[str] = json.loads(os.environ["DRIVER_COMMAND"])
ROOT_KEY = "c2VhbGVkIG1lbW9yeSB0ZXN0IHJvb3Qga2V5IDAwMDE="
OTHER_KEY = "c2VhbGVkIG1lbW9yeSB0ZXN0IHJvb3Qga2V5IDAwMDI="
_FOLDER = Path(tempfile.mkdtemp(prefix="sealed-memory-python-package-", dir=os.environ["SCRATCH"]))


def settings(store: str, root_key: str = ROOT_KEY) -> dict[str, str]:
    return {"SEALED_MEMORY_STORE": store, "SEALED_MEMORY_TENANT": "acme", "SEALED_MEMORY_ROOT_KEY": root_key}


def in_memory() -> dict[str, str]:
    return settings("memory:")


def new_path(name: str) -> Path:
    """A path at which nothing lies yet."""
    return Path(tempfile.mkdtemp(dir=_FOLDER)) / name


def in_sqlite() -> dict[str, str]:
    return settings(f"sqlite:{new_path('store.db')}")


def fake(behaviour: str, *args: object) -> Sequence[str]:
    """A driver that misbehaves: one of those in fake_driver.py."""
    return [sys.executable, str(Path(__file__).with_name("fake_driver.py")), behaviour, *map(str, args)]


def rows_of(seen: str) -> list[str]:
    """The lines of a file that was viewed, but empty ones."""
    rows = (row.split("\t", 1)[1] for row in seen.splitlines()[1:])
    return [row for row in rows if row]
