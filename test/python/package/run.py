"""Runs all tests of this folder. Prints a line for each, as JSON: its class, its name, and what failed or nothing."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from typing import Any


class Lines(unittest.TestResult):
    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._wrong: list[str] = []

    def _note(self, error: Any, test: unittest.TestCase) -> None:
        self._wrong.append(self._exc_info_to_string(error, test))

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        self._note(err, test)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self._note(err, test)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        if err is not None:
            self._note(err, test)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._wrong.append(f"not run: {reason}")

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        name = test.id().split(".")[-1]
        line = {"group": type(test).__name__, "name": name, "wrong": "\n".join(self._wrong)}
        print(json.dumps(line), file=sys.stdout, flush=True)


unittest.defaultTestLoader.discover(str(Path(__file__).parent)).run(Lines())
