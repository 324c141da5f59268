"""Contents and ids of records of every class, and checkpoints, for test/vectors/format-1-additions.json."""
import json
import records as r
from sealed_memory import b64u, keyed_hash, unb64u
from vector_forge import NK
from vector_history import A, AT, B, MTIME, NO_BOUND, NO_ID, NO_NUMBER, NO_PATH, NO_TIME

HASH, OTHER_HASH = (keyed_hash(NK, "access", path) for path in ("/memories/notes/a.txt", "/memories/b.txt"))
NO_TEXT = [0, None, True, ["a"], {"text": "a"}]
NO_HASH = ["", HASH[:-1], HASH + "A", HASH[:-1] + "5", HASH + "=", b64u(A), 0, None]
NO_LIST = ["", {}, None, 1]
NO_OBJECT = ["", [], None, 1]
NO_NAME = ["", "x" * 1025, "😀" * 513, "a\ud800", *NO_TEXT]
LAST_TIME = 8_640_000_000_000_000
TEXT, RECORD = {"text": "{}"}, {"record": HASH}
NO_STORED = [{}, {"text": "a", "record": "b"}, {"text": 1}, {"record": None}, {"text": None}, *NO_OBJECT]
USAGE = {"inputTokens": 1, "cacheReadTokens": 0, "cacheWriteTokens": 0, "outputTokens": 2}
MESSAGES = [{"role": "user", "content": "Größe 日本 😀"}]
TOUCHES = [{"kind": "read", "path": "/memories/a", "version": b64u(A)}, {"kind": "written", "path": "/memories/a", "version": b64u(B)},
           {"kind": "deleted", "path": "/memories/a"}, {"kind": "renamed", "path": "/memories/a", "to": "/memories/b"}]
NO_TOUCH = [1, None, [], {}, {"kind": "read", "path": "/memories/a"}, {"kind": "read", "path": 1, "version": "v"},
            {"kind": "renamed", "path": "/memories/a"}, {"kind": "renamed", "path": "/memories/a", "to": 1},
            {"kind": "read", "path": "/memories/a", "version": 1}, {"kind": "written", "path": "/memories/a"},
            {"kind": "written", "path": "/memories/a", "version": None}, {"kind": "read", "version": "v"}, {"kind": "seen", "path": "/memories/a"}, {"path": "/memories/a"}]
TRACE = {"turn": "turn_01", "follows": HASH, "list": TOUCHES, "unlisted": 0}
NO_TRACE = [*NO_OBJECT, {}, *({k: x for k, x in TRACE.items() if k != gone} for gone in ("turn", "list", "unlisted")),
            {**TRACE, "turn": 1}, {**TRACE, "follows": 1}, {**TRACE, "unlisted": -1}, {**TRACE, "list": {}},
            *({**TRACE, "list": [*TOUCHES, x]} for x in NO_TOUCH)]
ANSWER = {"outcome": "answered", "text": "Done.", "reason": "max_tokens", "model": "claude", "messages": MESSAGES,
          "digest": "d", "usage": USAGE, "trace": TRACE}
KEY = {"projectKey": "p-1", "sessionId": "s-1"}
NO_KEY = [*NO_OBJECT, {}, {"projectKey": "p"}, {"sessionId": "s"},
          *({**KEY, name: x} for name in ("projectKey", "sessionId", "subpath") for x in NO_NAME)]
RENAME = {"phase": "copying", "id": b64u(A), "from": "/memories/notes", "to": "/memories/old/notes", "owner": "o", "by": b64u(B)}
HEAD = {"number": 7, "files": 3, "began": MTIME, "ended": AT, "epoch": 2, "keepsHistory": True, "run": b64u(A), "parts": 2,
        "secret": b64u(bytes(range(32)))}
LINE = ["/memories/notes/a.txt", b64u(A), str(MTIME << 16), MTIME, 5, b64u(bytes(16)), b64u(B), '"etag-1"', OTHER_HASH, ""]
HOLD = {"turn": HASH, "owner": "o", "leaseMs": 60_000}
BODY = {"messages": MESSAGES, "last": {"turn": HASH, "from": 0, "answer": {"outcome": "answered", "text": "Done."}}}

def without(fields, *names): return {k: x for k, x in fields.items() if k not in names}

# Of each kind: contents that are read, and of the first of them what each field may not be. A field in `perhaps` may be absent.
JSON_KINDS = {
    "journal/register": (
        [RENAME, {"phase": "idle"}, {**without(RENAME, "by"), "phase": "moving"}, {**RENAME, "phase": "aborting", "note": 1},
         {"phase": "idle", "owner": 1}],
        {"phase": ["", "Idle", "done", None, 1], "id": NO_ID, "from": NO_PATH, "to": NO_PATH, "owner": NO_TEXT, "by": NO_ID}, {"by"}),
    "journal/expiry": (
        [{"marks": [[HASH, '"e"', MTIME], [OTHER_HASH, "", 0]]}, {"marks": []}, {"marks": [[HASH, '"e"', LAST_TIME]], "more": 1}],
        {"marks": [*NO_LIST, [1], [[]], [[HASH, '"e"']], [[HASH, '"e"', 0, 0]], *([[x, '"e"', 0]] for x in NO_HASH),
                   *([[HASH, x, 0]] for x in NO_TEXT), *([[HASH, '"e"', x]] for x in NO_TIME)]}, set()),
    "journal/swept": (
        [{"versions": [['"b"', '"a"', MTIME, AT], ['"c"', "", 0, 0]]}, {"versions": []}],
        {"versions": [*NO_LIST, [1], [[]], [['"b"', '"a"', 0]], [['"b"', '"a"', 0, 0, 0]], *([[x, '"a"', 0, 0]] for x in NO_TEXT),
                      *([['"b"', x, 0, 0]] for x in NO_TEXT), *([['"b"', '"a"', x, 0]] for x in NO_TIME),
                      *([['"b"', '"a"', 0, x]] for x in NO_TIME)]}, set()),
    "journal/history": (
        [{"expiredBefore": MTIME}, {"expiredBefore": 0}, {"expiredBefore": LAST_TIME, "more": 1}], {"expiredBefore": NO_TIME}, set()),
    "receipts/turn": (
        [{"state": "running", "message": HASH, "owner": "o", "leaseMs": 60_000, "progress": RECORD},
         {"state": "running", "message": HASH, "owner": "", "leaseMs": 0}, {"state": "free", "message": HASH, "progress": TEXT},
         {"state": "free", "message": HASH, "owner": 1}, {"state": "done", "message": HASH}, {"state": "done", "message": "", "progress": 1}],
        {"state": ["", "Running", None, 1], "message": NO_TEXT, "owner": NO_TEXT, "leaseMs": NO_NUMBER, "progress": NO_STORED}, {"progress"}),
    "receipts/progress": (
        [{"messages": MESSAGES, "text": "", "usage": USAGE, "digest": "d", "version": 3, "trace": TRACE},
         {"messages": [], "text": "a", "usage": {}}],
        {"messages": NO_LIST, "text": NO_TEXT, "usage": NO_OBJECT, "digest": NO_TEXT, "version": NO_NUMBER, "trace": NO_TRACE},
        {"digest", "version", "trace"}),
    "receipts/tokens": ([{"tokens": 0}, {"tokens": 2**53 - 1}, {"tokens": 12, "day": 1}], {"tokens": NO_NUMBER}, set()),
    "answers": (
        [ANSWER, {"outcome": "refused", "text": "", "messages": []}, {**ANSWER, "outcome": "truncated"}, {**ANSWER, "outcome": "too_large"},
         {**ANSWER, "trace": without(TRACE, "follows")}],
        {"outcome": ["", "done", None, 1], "text": NO_TEXT, "messages": NO_LIST, "reason": NO_TEXT, "model": NO_TEXT,
         "digest": NO_TEXT, "usage": NO_OBJECT, "trace": NO_TRACE}, {"reason", "model", "digest", "usage", "trace"}),
    "actors": ([{"actor": "turn_01-A"}, {"actor": "Größe 日本 😀", "more": 1}], {"actor": ["", "a\ud800", *NO_TEXT]}, set()),
    "conversations/head": (
        [{"version": 3, "turn": HASH, "content": TEXT, "held": HOLD}, {"version": 0}, {"version": 0, "held": HOLD},
         {"version": 1, "turn": HASH, "content": RECORD, "more": 1}],
        {"version": NO_NUMBER, "turn": NO_TEXT, "content": NO_STORED,
         "held": [*NO_OBJECT, {}, *(without(HOLD, name) for name in HOLD), {**HOLD, "leaseMs": -1}, {**HOLD, "owner": 1}, {**HOLD, "turn": 1}]},
        {"held"}),
    "conversations/body": (
        [BODY, {**BODY, "messages": [], "more": 1},
         {**BODY, "last": {**BODY["last"], "answer": {"text": "", "outcome": 1, "messages": None, "trace": []}}}],
        {"messages": NO_LIST, "last": [*NO_OBJECT, {}, *(without(BODY["last"], name) for name in BODY["last"]),
         {**BODY["last"], "turn": 1}, {**BODY["last"], "from": -1}, *({**BODY["last"], "answer": x} for x in NO_OBJECT), {**BODY["last"], "answer": {}}, {**BODY["last"], "answer": {"text": 1}}]},
        set()),
    "checkpoints/head": (
        [HEAD, {**HEAD, "files": 0, "parts": 0, "keepsHistory": False}, {**HEAD, "number": 10**12 - 1, "epoch": 2**32 - 1},
         {**HEAD, "number": 1, "epoch": 1, "parts": 10**6, "tree": None}],
        {"number": [*NO_NUMBER, 0, 10**12], "files": NO_NUMBER, "began": NO_TIME, "ended": NO_TIME, "epoch": NO_NUMBER,
         "keepsHistory": [0, 1, "true", None], "run": NO_ID, "parts": [*NO_NUMBER, 10**6 + 1],
         "secret": NO_HASH}, set()),
}

# Fields that came when the cases above were fixed already.
LATER_KINDS = {
    "receipts/turn": (
        [{"state": "running", "message": HASH, "owner": "o", "leaseMs": 60_000, "attempts": 1},
         {"state": "free", "message": HASH, "progress": TEXT, "attempts": 9}, {"state": "free", "message": HASH, "attempts": 0}],
        {"attempts": NO_NUMBER}, {"attempts"}),
    "receipts/tokens": (
        [{"tokens": 1, "reserved": 2, "until": 1_800_000_000_000}, {"tokens": 0, "reserved": 0}],
        {"reserved": NO_NUMBER, "until": NO_NUMBER}, {"reserved", "until"}),
}

def encoded(x):
    """UTF-8; a surrogate that stands alone as JSON writes it."""
    return r.compact(x).replace("\ud800", "\\ud800").encode()

NO_JSON = [b"", b"null", b"[]", b'"a"', b"{", b"\xef\xbb\xbf{}", b'{"a":"\xff"}', b"{},", b'{"a":NaN}', b"{'a':1}", b"{}{}"]

def page_of(head, *lines): return b"\n".join([encoded(head), *lines])

FIRST = {"key": KEY, "first": 0}
PAGES = [
    page_of(FIRST), page_of(FIRST, b'{"uuid":"u-1"}', b'{"uuid":"u-1"}', b'{}'), page_of({**FIRST, "more": 1}, b' {"a" : [1]} '),
    page_of({"key": {**KEY, "subpath": "x" * 1024}, "first": 3, "summary": {"by": "lib", "data": None}}, b'{"a":"\xc3\xb6"}'),
    page_of({"key": {"projectKey": "😀" * 512, "sessionId": "\u0000"}, "first": 2**53 - 1}),
]
NO_PAGES = [
    *NO_JSON, *(page_of(x) for x in ({}, {"key": KEY}, {"first": 0}, *({**FIRST, "key": x} for x in NO_KEY),
                                     *({**FIRST, "first": x} for x in NO_NUMBER),
                                     *({**FIRST, "summary": x} for x in (*NO_OBJECT, {}, {"by": 1, "data": 1}, {"data": 1})))),
    *(page_of(FIRST, b"{}", x) for x in (b"", b"[]", b"null", b"1", b'{"a":"\xff"}', b"{")), page_of(FIRST) + b"\n",
]
LINES = [
    [LINE], [LINE, [*LINE[:-1], "young"], ["/memories/Größe 日本 😀.md", b64u(B), "0", 0, 0, b64u(A), b64u(bytes(16)), "", HASH, ""]],
    [["/memories" + "/a" * 41, *LINE[1:]]], [["/memories/cafe\u0301", *LINE[1:]]],
    [[LINE[0], LINE[1], str(2**63 - 1), 2**53 - 1, 2**53 - 1, *LINE[5:]]],
]
WRONG_IN_LINE = [[*NO_PATH, "/memories"], NO_ID, NO_BOUND, NO_NUMBER, NO_NUMBER, NO_ID, NO_ID, NO_TEXT, NO_HASH, ["accepted", "Young", None, 0, [""]]]

def part_of(lines): return b"\n".join(encoded(line) for line in lines)

NO_PARTS = [
    *NO_JSON, part_of([LINE]) + b"\n", b"\n" + part_of([LINE]), part_of([LINE, []]),
    part_of([LINE[:-1]]), part_of([[*LINE, ""]]), part_of([LINE]).replace(b"notes", b"not\xffs"),
    *(part_of([[*LINE[:i], x, *LINE[i + 1:]]]) for i, values in enumerate(WRONG_IN_LINE) for x in values),
]
RAW_KINDS = {
    "access": ([b""], [b"{}", b" ", b"\0"]),
    "sessions": (PAGES, NO_PAGES),
    "conversations/prompt": ([b"a", "Größe 日本 😀".encode(), b"\0", b"\xef\xbb\xbf"], [b"", b"\xff", b"\xed\xa0\x80"]),
    "checkpoints/part": ([*(part_of(lines) for lines in LINES), part_of([LINE]) + b"\r\n " + part_of([LINE])], NO_PARTS),
}

def contents():
    yield from json_contents(JSON_KINDS)
    for kind, (accept, refuse) in RAW_KINDS.items():
        yield kind, accept, refuse
    yield from json_contents(LATER_KINDS)

def json_contents(kinds):
    for kind, (accept, wrong, perhaps) in kinds.items():
        first = accept[0]
        refuse = [*NO_JSON, encoded(first) + b"\n{}", encoded(first)[:-1] + b',"more":NaN}',
                  *(encoded(without(first, name)) for name in wrong if name not in perhaps),
                  *(encoded({**first, name: x}) for name, values in wrong.items() for x in values)]
        whole = [encoded(fields) for fields in accept]
        whole.append(json.dumps(dict(reversed(first.items())), indent=1).encode())
        yield kind, whole, refuse

def record_contents():
    """What a reader finds in each; a record of `refuse` is malformed."""
    return [{"kind": kind, "accept": [{"content": b.hex(), "record": r.read_record(kind, b)} for b in accept],
             "refuse": [b.hex() for b in dict.fromkeys(refuse)]} for kind, accept, refuse in contents()]

# Ids
SESSION_KEYS = [KEY, {**KEY, "subpath": "agents/a"}, {"projectKey": "p-1", "sessionId": "s-2"}, {"projectKey": "Größe \"日本\" 😀", "sessionId": "\\ \u0001\u001f\b\t\n\f\r\u007f\u2028/"},
                {"projectKey": "p-1", "sessionId": "s-1", "subpath": "s-1"}]
DAYS = [0, 86_399_999, 86_400_000, MTIME, 253_402_300_799_999]

def record_ids():
    return {
        "access": [{"at": at, "path": path, "id": r.access_id(NK, at, path)}
                   for at, path in [*((at, "/memories/notes/a.txt") for at in DAYS), (MTIME, "/memories/café/日本.md")]],
        "receipts": [{"turn": turn, "id": r.receipt_id(NK, turn)} for turn in ("turn_01-A", "Größe 日本 😀", "x" * 256)],
        "messages": [{"message": text, "hash": r.receipt_hash(NK, "message", text)} for text in ("", '{"turn":"turn_01-A"}', "Größe \n")],
        "progress": [{"receipt": HASH, "owner": "o-1", "id": r.receipt_hash(NK, "progress", f"{HASH} o-1")}],
        "tokens": [{"at": at, "id": r.receipt_hash(NK, "tokens", str(at // 86_400_000))} for at in DAYS],
        "actors": [{"actor": actor, "id": keyed_hash(NK, "actors", actor)} for actor in ("turn_01-A", "Größe 日本 😀")],
        "sessions": [{"key": key, "page": page, "id": r.page_id(NK, key, page)} for key in SESSION_KEYS for page in (0, 12, 10**8 - 1)],
        "conversations": [{"conversation": c, "random": x.hex(), "head": r.conversation_id(NK, c), "body": r.body_id(NK, c, x)}
                          for c in ("c-1", "Größe \"日本\" 😀", "<b>&'\u2029</b>", "\\\n") for x in (A[:12], b"\xff" * 12)],
        "prompts": [{"conversation": c, "turn": t, "id": r.prompt_id(NK, c, t)} for c in (None, "c-1", "null") for t in ("turn_01-A", "\"\\")],
        "checkpoints": [*({"number": n, "id": r.head_id(n)} for n in (1, 7, 10**12 - 1)),
                        *({"run": b64u(A), "part": n, "id": r.part_id(b64u(A), n)} for n in (0, 12, 999_999))],
    }

# Checkpoints
def checkpoint(what, parts, **fields):
    contents = [part_of(lines) for lines in parts]
    head = {**HEAD, "files": sum(map(len, parts)), "parts": len(parts), **fields}
    secret = unb64u(head["secret"])
    records = {r.head_id(head["number"]): encoded(head), **{r.part_id(head["run"], i): b for i, b in enumerate(contents)}}
    return {"what": what, "records": {id: b.hex() for id, b in records.items()}, "facts": r.facts_of(head),
            "partDigests": [r.part_digest(secret, i, b).hex() for i, b in enumerate(contents)], "line": r.line_of(head, contents)}

TWO = [LINES[1][:2], LINES[1][2:]]
MANY = [[[f"/memories/{i}/{j}", b64u(bytes([i, j]) * 8), str(MTIME << 16), MTIME, j, *LINE[5:]] for j in range(9)] for i in range(4)]

def accepted_checkpoints():
    return [checkpoint("one file", [[LINE]]), checkpoint("no file, no part", []), checkpoint("two parts", TWO),
            checkpoint("the same files in one part", [LINES[1]]), checkpoint("without history", TWO, keepsHistory=False),
            checkpoint("four parts of nine files", MANY, number=123_456_789_012, epoch=2**32 - 1, began=0, ended=LAST_TIME),
            checkpoint("lines in no order of a listing", [LINES[1][::-1]])]

def refused_checkpoints():
    def case(what, changed, line=None, base=TWO, **fields):
        whole = checkpoint(what, base, **fields)
        records = {**whole["records"], **{id: b and b.hex() for id, b in changed.items()}}
        return {"what": what, "records": {id: b for id, b in records.items() if b}, "line": line or whole["line"]}
    head, part0, part1 = r.head_id(7), r.part_id(HEAD["run"], 0), r.part_id(HEAD["run"], 1)
    whole = {"files": 3, "parts": 2}
    other = checkpoint("", TWO, number=8)
    def headed(**fields): return encoded({**HEAD, **whole, **fields})
    yield case("the head is gone", {head: None})
    yield case("a part is gone", {part1: None})
    yield case("parts exchanged", {part0: part_of(TWO[1]), part1: part_of(TWO[0])})
    yield case("a line of a part is gone", {part0: part_of(TWO[0][:1])})
    yield case("a line stands twice", {part1: part_of(TWO[1] * 2)})
    yield case("a line moved into the next part", {part0: part_of(TWO[0][:1]), part1: part_of([TWO[0][1], *TWO[1]])})
    yield case("a bound changed", {part1: part_of([[*TWO[1][0][:2], "1", *TWO[1][0][3:]]])})
    yield case("a text hash changed", {part1: part_of([[*TWO[1][0][:8], OTHER_HASH, ""]])})
    yield case("a space more in a part", {part1: part_of(TWO[1]) + b" "})
    for name, x in (("files", 4), ("began", MTIME + 1), ("ended", AT + 1), ("epoch", 3), ("keepsHistory", False), ("parts", 1),
                    ("secret", b64u(bytes(32))), ("run", b64u(B))):
        yield case(f"{name} of the head changed", {head: headed(**{name: x})})
    yield case("the head of another number", {head: encoded({**HEAD, **whole, "number": 8})}, other["line"].replace("8:", "7:", 1))
    yield case("the line of another checkpoint", {}, other["line"])
    yield case("another root", {}, f"7:{HASH}")
    yield case("its head says fewer files than there are, by a holder of the keys", {}, files=2)
    yield case("its head says more files than there are, by a holder of the keys", {}, files=4)
    yield case("a malformed line, by a holder of the keys", {}, base=[[LINE[:-1]]])

def checkpoints():
    return {"accept": accepted_checkpoints(), "refuse": list(refused_checkpoints())}

def text_hashes():
    return [{"content": b.hex(), "hash": r.text_hash(NK, b)} for b in (b"", b"hello", "Größe\n".encode(), b"\xff\0", bytes(65537)) if len(b) < 100]
