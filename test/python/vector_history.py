"""Contents of records of the classes `history` and `actors`, for test/vectors/format-1-additions.json."""
import json
from history_records import history_id
from sealed_memory import b64u, lp
from vector_forge import NK

A, B, WRITER, NONE = bytes(range(16)), bytes(range(16, 32)), b"\xff" * 16, bytes(16)
MTIME, AT = 1_700_000_000_000, 1_700_000_001_000
TEXT = "the old text\n".encode()
NOTED = {"at": AT, "by": b64u(WRITER)}
VERSION = {"path": "/memories/notes/a.txt", "mtime": MTIME, "size": len(TEXT), "id": b64u(A),
           "bound": str(MTIME << 16), "previous": b64u(B), "writer": b64u(WRITER)}
REPLACED, REDACTED = ({"kind": kind, **NOTED, **VERSION} for kind in ("replaced", "redacted"))
FILES = [["/memories/notes/a.txt", b64u(A), str(MTIME << 16)], ["/memories/notes/Größe 日本 😀.md", b64u(B), "0"]]
DELETED = {"kind": "deleted", **NOTED, "files": FILES}
MOVED = {"kind": "moved", **NOTED, "from": "/memories/notes", "to": "/memories/old/notes", "files": FILES}
FIRST = {"at": 0, "by": b64u(NONE)}
LAST = {"at": 8_640_000_000_000_000, "mtime": 2**53 - 1, "bound": str(2**63 - 1)}

def compact(fields): return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
def content(fields, text=b""): return lp(compact(fields)) + text

ACCEPTED = [
    ("replaced", REPLACED, TEXT),
    ("replaced, of an empty text, the first at its path, without an actor",
     {**REPLACED, **FIRST, "size": 0, "mtime": 0, "bound": "0", "previous": b64u(NONE), "writer": b64u(NONE)}, b""),
    ("replaced, saved before a delete", {**REPLACED, "for": "delete"}, TEXT),
    ("replaced, with fields that are not known", {**REPLACED, "contentId": 1, "note": {"a": [None]}}, TEXT),
    ("replaced, in a directory of 40 directories", {**REPLACED, "path": "/memories" + "/a" * 41}, TEXT),
    ("replaced, a path that is not in NFC", {**REPLACED, "path": "/memories/cafe\u0301"}, TEXT),
    ("replaced, its text not UTF-8", {**REPLACED, "size": 4}, bytes.fromhex("ff00fe0a")),
    ("replaced, its text looks like a record", {**REPLACED, "size": len(content(DELETED))}, content(DELETED)),
    ("replaced, the greatest numbers", {**REPLACED, **LAST, "path": FILES[1][0]}, TEXT),
    ("redacted", REDACTED, b""),
    ("redacted, the greatest numbers", {**REDACTED, **LAST, "size": 2**53 - 1}, b""),
    ("redacted, what a replaced one was saved for is not its matter", {**REDACTED, "for": "edit"}, b""),
    ("deleted, one file", {**DELETED, "files": FILES[:1]}, b""),
    ("deleted, a directory", DELETED, b""),
    ("deleted, one file twice, with two bounds", {**DELETED, "files": [FILES[0], [*FILES[0][:2], str(2**63 - 1)]]}, b""),
    ("deleted, no file", {**DELETED, **FIRST, "files": []}, b""),
    ("moved, a file", {**MOVED, "from": FILES[0][0], "to": "/memories/b.txt", "files": FILES[:1]}, b""),
    ("moved, a directory", MOVED, b""),
    ("moved, out of the whole tree", {**MOVED, "from": "/memories"}, b""),
    ("moved, into a directory of its own", {**MOVED, "to": "/memories/notes/notes"}, b""),
    ("moved, no file", {**MOVED, "files": []}, b""),
]
NO_ID = ["", b64u(A)[:-1], b64u(A[:15]), b64u(A + A[:1]), b64u(A) + "==", b64u(A)[:-1] + "9", "/" * 21 + "w", 0, None, [b64u(A)]]
NO_NUMBER = [-1, 0.5, 2**53, str(MTIME), None, True, [MTIME]]
NO_BOUND = ["", "-1", "+1", "01", "1.0", "1e3", "0x1", " 1", "1\n", "١", str(2**63), "1" * 20, 1, None]
NO_PATH = ["", "notes/a.txt", "/notes/a.txt", "/memoriesx/a", "/memories/../a", "/memories/a/./b", "/memories/a\\b",
           "/memories/a\0", "/memories/%2e%2e/a", "/memories/" + "x" * 144, 1, None, ["/memories/a"]]
NO_FILES = ["", {}, None, [1], ["/memories/notes/a"], [[]], [FILES[0][:1]], [FILES[0][:2]], [[*FILES[0], "0"]],
            [[*FILES[0][:2], 0]], [[*FILES[0][:2], "01"]], [[*FILES[0][:2], str(2**63)]], [[*FILES[0][:2], None]],
            [["notes/a", *FILES[0][1:]]], [["/memories/notes/../a", *FILES[0][1:]]], [[FILES[0][0], b64u(A[:15]), "0"]],
            [*FILES, [b64u(A), "/memories/notes/a", "0"]], [{"0": FILES[0][0], "1": b64u(A), "2": "0"}]]
OUTSIDE = [[["/memories/a", b64u(A), "0"]], [["/memories", b64u(A), "0"]], [*FILES, ["/memories/notesx/a", b64u(A), "0"]],
           [["/memories/old/notes/a.txt", b64u(A), "0"]]]
NO_TIME = [*NO_NUMBER, 8_640_000_000_000_001]
NO_PURPOSE = ["", "edit", "Delete", None, True, ["delete"]]
NO_KIND = ["", "Replaced", "replaced ", "renamed", 0, None, ["replaced"]]
WHOLE = {"replaced": (REPLACED, TEXT), "redacted": (REDACTED, b""), "deleted": (DELETED, b""), "moved": (MOVED, b"")}
REFUSED_FIELDS = {"kind": NO_KIND, "at": NO_TIME, "by": NO_ID}
REFUSED_OF_VERSION = {**REFUSED_FIELDS, "path": NO_PATH, "mtime": NO_NUMBER, "size": NO_NUMBER, "id": NO_ID,
                      "bound": NO_BOUND, "previous": NO_ID, "writer": NO_ID}
# Of a field that two kinds share, a few values for the second one.
FEW = {name: REFUSED_OF_VERSION[name][:2] for name in ("path", "mtime", "id", "bound", "previous", "writer")}
REFUSED = {"replaced": REFUSED_OF_VERSION, "redacted": {**REFUSED_FIELDS, "size": NO_NUMBER, **FEW},
           "deleted": {**REFUSED_FIELDS, "files": NO_FILES},
           "moved": {"at": NO_TIME[-1:], "by": NO_ID[1:2], "from": NO_PATH, "to": NO_PATH, "files": [*NO_FILES, *OUTSIDE]}}

def refused_records():
    for kind, (fields, text) in WHOLE.items():
        for name, values in REFUSED[kind].items():
            yield f"{kind}, without {name}", content({k: x for k, x in fields.items() if k != name}, text)
            for x in values:
                yield f"{kind}, its {name} wrong", content({**fields, name: x}, text)
        whole = content(fields, text)
        yield f"{kind}, a byte behind", whole + b"\n"
        yield f"{kind}, cut by a byte", whole[:-1]
        yield f"{kind}, its length one less", lp(compact(fields)[:-1]) + b"}" + text
        yield f"{kind}, without its length", compact(fields) + text
    for x in NO_PURPOSE:
        yield "replaced, saved for what is not known", content({**REPLACED, "for": x}, TEXT)
    yield "redacted, with the text", content(REDACTED, TEXT)
    yield "replaced, without the text", content(REPLACED)
    yield "nothing", b""
    yield "three bytes", bytes(3)
    yield "an empty text", bytes(4)
    yield "the greatest length", b"\xff" * 4 + compact(DELETED)
    for what, b in [("an array", b"[]"), ("null", b"null"), ("a text", b'"deleted"'), ("two objects", compact(DELETED) * 2),
                    ("a byte order mark", b"\xef\xbb\xbf" + compact(DELETED)), ("UTF-16", compact(DELETED).decode().encode("utf-16-le")),
                    ("not UTF-8", compact(DELETED).replace(b"notes", b"not\xffs")), ("a comma at the end", compact(DELETED)[:-1] + b",}"),
                    ("no number of JSON", compact(DELETED).replace(str(AT).encode(), b"NaN")),
                    ("more than any number", compact(DELETED).replace(str(AT).encode(), b"1e999"))]:
        yield what, lp(b)

def told(fields, text):
    """What a reader finds, with ids and text in hexadecimal."""
    ids = {name: base64_hex(fields[name]) for name in ("by", "id", "previous", "writer") if name in fields}
    files = {"files": [[path, base64_hex(x), bound] for path, x, bound in fields["files"]]} if "files" in fields else {}
    told = {name: x for name, x in fields.items() if name in NAMES or (name, fields["kind"]) == ("for", "replaced")}
    return {**told, **ids, **files, **({"text": text.hex()} if fields["kind"] == "replaced" else {})}

NAMES = {"kind", *NOTED, *VERSION, "from", "to", "files"}

def base64_hex(x): return next(b for b in (A, B, WRITER, NONE) if b64u(b) == x).hex()

def accepted(what, fields, text):
    case = {"what": what, "content": content(fields, text).hex(), "record": told(fields, text)}
    return case if "path" not in fields else {**case, "id": history_id(NK, fields["path"], fields["bound"], A)}

def history_records():
    spaced = lp(json.dumps(dict(reversed(REDACTED.items())), indent=1).encode())
    twice = lp(b'{"at":0,"by":1,"kind":"deleted",' + compact(REDACTED)[1:])
    otherwise = lp(compact(REDACTED).replace(b":13,", b":13.0,").replace(b":1700000001000,", b":1.700000001e12,"))
    return {"accept": [*(accepted(*c) for c in ACCEPTED),
                       {**accepted("redacted, fields that stand twice", REDACTED, b""), "content": twice.hex()},
                       {**accepted("redacted, numbers with a fraction and an exponent", REDACTED, b""), "content": otherwise.hex()},
                       {**accepted("redacted, in another order, with spaces", REDACTED, b""), "content": spaced.hex()}],
            "refuse": [{"what": what, "content": b.hex()} for what, b in refused_records()]}

ACTORS = ["turn_01-A", "a", "Größe 日本 😀", 'a "quote" \\ and\nmore', "x" * 256]
NO_ACTORS = [b"", b"turn_01-A", b'"turn_01-A"', b"[]", b"null", b"{}", b'{"Actor":"a"}', b'{"actor":1}', b'{"actor":null}',
             b'{"actor":["a"]}', b'{"actor":{"actor":"a"}}', b'{"actor":"a"', b'{"actor":"a"}x', b'{"actor":"a\n"}',
             b'\xef\xbb\xbf{"actor":"a"}', b'{"actor":"\xff"}', lp(b'{"actor":"a"}')]

def actor_records():
    return {"accept": [{"actor": actor, "content": compact({"actor": actor}).hex()} for actor in ACTORS],
            "refuse": [b.hex() for b in NO_ACTORS]}
