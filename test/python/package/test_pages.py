"""The scripts that the pages show, run as a reader would run them: in a folder that `init` has prepared."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import COMMAND

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "examples" / "python" / "sealed_memory"

RESUMED = '''
import claude_agent_sdk

async def query(*, prompt, options):
    """In place of Claude Code: what it does with the store before it begins."""
    yield await options.session_store.load({"project_key": "p", "session_id": options.resume})

claude_agent_sdk.query = query
'''


def script_of(page: Path) -> str:
    (script,) = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return script


class Pages(unittest.TestCase):
    def run_script(self, script: str) -> str:
        with tempfile.TemporaryDirectory(dir=os.environ["SCRATCH"]) as folder:
            claude = {"ANTHROPIC_BASE_URL": os.environ["PAGE_CLAUDE"], "ANTHROPIC_API_KEY": "none"}
            env = {**os.environ, "HOME": folder, **claude}
            subprocess.run([*COMMAND, "init"], cwd=folder, env=env, check=True, capture_output=True)
            programs = Path(folder) / "node_modules" / ".bin"
            programs.mkdir(parents=True)
            (programs / "sealed-memory").write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
            (programs / "sealed-memory").chmod(0o755)
            done = subprocess.run([sys.executable, "-c", script], cwd=folder, env=env, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_hosts(self) -> None:
        self.assertIn("Tea.", self.run_script(script_of(ROOT / "docs" / "hosts.md")))

    def test_readme(self) -> None:
        self.assertIn("Tea.", self.run_script(script_of(PACKAGE / "README.md")))

    def test_sessions(self) -> None:
        self.assertEqual(self.run_script(RESUMED + script_of(ROOT / "docs" / "sessions.md")), "None\n")
