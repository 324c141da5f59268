"""fake_driver.py BEHAVIOUR [PATH] exec --jsonl: a driver that answers as the real one does, but for its behaviour."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any


def answer(request: dict[str, Any], content: object = "fine") -> None:
    print(json.dumps({"id": request["id"], "ok": True, "content": content}), flush=True)


def main() -> None:
    behaviour, *rest = sys.argv[1:]
    held: list[dict[str, Any]] = []
    for line in sys.stdin:
        request = json.loads(line)
        text = request.get("path")
        if behaviour == "exits" and text == "die":
            print("the disk is full", file=sys.stderr, flush=True)
            sys.exit(3)
        if behaviour == "killed" and text == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if behaviour == "babbles":
            print(f"what was asked: {text}", flush=True)
        elif behaviour == "unasked":
            answer({"id": 4711})
        elif behaviour == "cut-off":
            print('{"id":1,"ok":true,"content":"ha', end="", flush=True)
            sys.exit(0)
        elif behaviour == "later":
            # The first is answered behind the second.
            held.append(request)
            if len(held) == 2:
                for each in reversed(held):
                    answer(each, each["path"])
        elif behaviour in ("at-the-end", "killed"):
            held.append(request)
        else:
            answer(request)
    for each in held if behaviour == "at-the-end" else []:
        answer(each, each["path"])
    if rest[0] != "exec":
        with open(rest[0], "w") as told:
            told.write("its input has ended")


main()
