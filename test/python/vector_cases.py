"""The cases of test/vectors/format-1.json that are made anew, and the bytes of all that other cases refer to."""
from sealed_memory import D, H, kdf
from vector_forge import NK, entries, forge_keyring, forge_object, old

FILE = "/memories/notes/a.txt"
BOUND = 1_700_000_000_000 << 16
WRITER = H(16, kdf(NK, 3, b"smem-nk1"), D("writer") + b"turn_01-A")

def case(id, what, *ops, **more): return {"id": id, "what": what, **more, **({"ops": [list(op) for op in ops]} if ops else {})}
def xor(at, b="01"): return ("xor", at, b)

OBJECT_DEFAULTS = {"keyring": "one", "key": "TK1", "name": FILE, "text": "hello", "versionId": "versionId", "dek": "DEK",
                   "nonce": "N11", "drawnUnder": 1, "mtime": 1_700_000_000_000, "bound": str(BOUND), "previous": "zero16",
                   "writer": "zero16", "origin": "zero16"}
OTHER = {"versionId": "versionId2", "dek": "DEK2", "nonce": "N66"}
FULL = {"bound": str(BOUND + 1), "previous": "versionId", "writer": WRITER.hex(), "origin": "origin"}
GREATEST = {"mtime": str(2**53 - 1), "bound": str(2**63 - 1), "previous": "f" * 32, "writer": "f" * 32, "origin": "f" * 32}
RENAME = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
HISTORY_NAME = "/history/D_ntTl8XMK97KhvByAbnkihS-T5m5IOBsS5-oAFuJm4_-2Qz4mYF----_oKGio6Sl"
HASH = {"only": "hash"}
OBJECTS = [
    {"id": "empty", "text": ""},
    {"id": "hello"},
    {"id": "unicode", "name": "/memories/café/日本.md", "text": "é", **OTHER},
    {"id": "receipt", **HASH, "name": "/receipts/turn_01-A", **OTHER, "nonce": "N77"},
    {"id": "with-origin", **OTHER, "origin": "origin"},
    {"id": "other-tenant", **HASH, "keyring": "globex", "key": "TK2", **OTHER, "drawnUnder": 7},
    *({"id": f"zeros{n}", **HASH, "zeros": n} for n in (65535, 65536, 65537, 131072, 131073)),
    {"id": "with-all", **OTHER, **FULL},
    {"id": "greatest", **OTHER, "nonce": "N77", **GREATEST},
    {"id": "least", **OTHER, "nonce": "N55", "mtime": 0, "bound": "0"},
    {"id": "sealed-again", "dek": "DEK2", "nonce": "N44", "bound": str(BOUND + 1),
     "comment": "the version of hello, sealed again: one id, another data key and commitment, a greater bound"},
    {"id": "second", "keyring": "two", "key": "TK2", "drawnUnder": 2, **OTHER, "comment": "sealed under the second tenant key"},
    {"id": "suffix-in-name", **HASH, "name": FILE + ".sealed", "comment": "a file whose own name ends in .sealed"},
    {"id": "history", **HASH, "name": HISTORY_NAME, **OTHER, **FULL},
    *({"id": cls, **HASH, "name": f"/{cls}/A-z_9", **OTHER} for cls in ("journal", "access", "answers", "actors")),
    *({"id": cls, **HASH, "name": f"/{cls}/A-z_9", **OTHER} for cls in ("conversations", "sessions")),
]

FORGED = [
    {"id": "second-from-first", "keyring": "two", "key": "TK2", **OTHER, "nonce": "N55",
     "comment": "under the second tenant key, its data key drawn under the first: what a re-binding leaves"},
    {"id": "drawn-late", **OTHER, "nonce": "N77", **GREATEST, "drawnUnder": 2**32 - 1,
     "comment": "says that its data key was drawn under a later key than the one that opens it"},
]

def rebind(id, base, to, nonce, bound, keyring="two", **more):
    return {"id": id, "base": base, "keyring": keyring, "from": FILE, "to": to, "nonce": nonce, "bound": str(bound), **more}

REBINDS = [
    rebind("rebound", "hello", "/memories/b.txt", "N55", BOUND + 2, origin="zero16", comment="an origin of zeros"),
    rebind("rebound131073", "zeros131073", "/memories/b.txt", "N55", BOUND + 2, origin="zero16", **HASH),
    rebind("rebound-dir", "hello", "/memories/c/a.txt", "N77", BOUND + 3, origin="origin", comment="rename"),
    rebind("rebound-file", "with-origin", "/memories/b.txt", "N77", BOUND + 3, origin="zero16", **HASH,
           comment="the origin goes"),
    rebind("migrated", "with-origin", FILE, "N55", BOUND + 2, **HASH, comment="migration: the origin stays"),
    rebind("rebound-all", "with-all", "/memories/b.txt", "N77", BOUND + 0x10000, origin=RENAME,
           comment="rename: previous and writer stay, the origin changes"),
    rebind("migrated-all", "with-all", FILE, "N55", BOUND + 2, comment="migration: previous, writer and origin stay"),
    rebind("second-moved", "second", "/memories/b.txt", "N44", BOUND + 3, origin="origin",
           comment="drawn under 2, opened by 2: stays 2"),
    rebind("second-from-first-moved", "second-from-first", "/memories/b.txt", "N44", BOUND + 3, origin="origin",
           comment="drawn under 1, opened by 2: stays 1"),
    rebind("drawn-late-moved", "drawn-late", "/memories/b.txt", "N44", 2**63 - 1, origin="origin",
           comment="drawn under 2^32 - 1, opened by 1: becomes 1"),
    rebind("moved-all", "with-all", "/memories/c/a.txt", "N44", BOUND + 2, "one", origin="versionId2",
           comment="the same under the same key"),
]

NEXT = 224 + 65536 + 16  # where chunk 1 begins
OLD = "an earlier layout, never released: "
REFUSED = [
    case("o01", "empty input", ("truncate", 0)),
    case("o02", "header only", ("truncate", 224)),
    case("o03", "one byte below the smallest object", ("truncate", 239)),
    case("o04", "the shape of an empty file", ("truncate", 240)),
    case("o05", "last byte missing", ("truncate", 244)),
    case("o06", "one byte more", ("append", "00")),
    case("o07", "magic", xor(0)),
    case("o08", "keyring magic", ("set", 3, "4b")),
    case("o09", "format 2", ("set", 8, "02")),
    case("o10", "suite 0 (downgrade)", ("set", 9, "00")),
    case("o11", "chunk size", ("set", 10, "0f")),
    case("o12", "reserved", ("set", 11, "01")),
    case("o13", "version id", xor(12)),
    case("o14", "commitment", xor(28)),
    case("o15", "keyId unknown", xor(60, "80")),
    case("o16", "keyId of another key of the ring", ("copy", "rebound", 60, 16, 60)),
    case("o17", "nonce", xor(99)),
    case("o18", "data key, first byte", xor(100)),
    case("o19", "wrap tag, last byte", xor(223, "80")),
    case("o20", "chunk", xor(224)),
    case("o21", "chunk tag", xor(244)),
    case("o22", "read under another name", name="/memories/notes/b.txt"),
    case("o23", "name as a class object", name="/journal/a"),
    case("o24", "name with a trailing slash", name=FILE + "/"),
    case("o25", "name in another normal form", base="unicode", name="/memories/cafe\u0301/日本.md"),
    case("o26", "rebound object under its old name", base="rebound"),
    case("o27", "key not in this keyring", base="rebound", keyring="one", name="/memories/b.txt"),
    case("o28", "key retired", keyring="retired"),
    case("o29", "read by another tenant", keyring="globex"),
    case("o30", "another tenant's object, its key known here", base="other-tenant"),
    case("o31", "wrap of another length", ("copy", "empty", 60, 164, 60)),
    case("o32", "wrap of another file", ("copy", "receipt", 60, 164, 60), name="/receipts/turn_01-A"),
    case("o33", "header of another file", ("copy", "receipt", 0, 60, 0)),
    case("o34", "chunks of another file", ("copy", "receipt", 224, 21, 224)),
    case("o35", "version id and commitment swapped in place", ("swap", 12, 28, 16)),
    case("o36", "chunks 0 and 1 swapped", ("swap", 224, NEXT, 65552), base="zeros131073"),
    case("o37", "last chunk missing", ("truncate", NEXT + 65552), base="zeros131073"),
    case("o38", "middle chunk missing", ("drop", NEXT, 65552), base="zeros131073"),
    case("o39", "first chunk missing", ("drop", 224, 65552), base="zeros131073"),
    case("o40", "last chunk twice", ("append-from", "zeros131073", NEXT + 65552, 17), base="zeros131073"),
    case("o41", "last chunk cut to its tag", ("drop", NEXT + 65552, 1), base="zeros131073"),
    case("o42", "tags of chunks 0 and 1 swapped", ("swap", NEXT - 16, NEXT + 65536, 16), base="zeros131073"),
    case("o43", "bit in the middle chunk", xor(100000, "10"), base="zeros131073"),
    case("o44", "final flag missing", forge={"chunks": [["text:hello", 0, 0]]}),
    case("o45", "chunk number 1 instead of 0", forge={"chunks": [["text:hello", 1, 1]]}),
    case("o46", "wrap says 6", forge={"length": 6}),
    case("o47", "wrap says 4", forge={"length": 4}),
    case("o48", "wrap says 2^32 + 5", forge={"length": str(2**32 + 5)}),
    case("o49", "wrap says 2^63", forge={"length": str(2**63)}),
    case("o50", "mtime 2^53", forge={"mtime": str(2**53)}),
    case("o51", "mtime 2^64 - 1", forge={"mtime": str(2**64 - 1)}),
    case("o52", "sealed for tenant acme2 with these keys", forge={"tenant": "acme2"}),
    case("o53", "sealed for another keyring id with these keys", forge={"keyringId": "keyringId2"}),
    case("o54", "only O made with another keyring id", forge={"bodyKeyringId": "keyringId2"}),
    case("o55", "O made with another data key than the wrapped one", forge={"bodyDek": "DEK2"}),
    case("o56", "commitment right, chunks under another data key", forge={"chunkDek": "DEK2"}),
    case("o57", "authentic suite 2", forge={"version": "01021000"}),
    case("o58", "authentic format 2", forge={"version": "02011000"}),
    case("o59", "authentic reserved byte", forge={"version": "01011001"}),
    case("o60", "extra empty final chunk after an exact multiple",
         forge={"zeros": 65536, "chunks": [["zeros:65536", 0, 0], ["zeros:0", 1, 1]]}),
    case("o61", "65,537 bytes split as 65,535 + 2",
         forge={"zeros": 65537, "chunks": [["zeros:65535", 0, 0], ["zeros:2", 1, 1]]}),
    case("o62", "both chunks final", forge={"zeros": 65537, "chunks": [["zeros:65536", 0, 1], ["zeros:1", 1, 1]]}),
    case("o63", "authentic with another magic", forge={"magic": "89534d310d0a1a0b"}),
    case("o64", "all authentic but the commitment", forge={"commitment": "KK"}),
    case("o65", "one byte after a full last chunk", ("append", "00"), base="zeros65536"),
    case("o66", "16 bytes after a full last chunk", ("append-zeros", 16), base="zeros65536"),
    case("o67", "origin, first byte", xor(192)),
    case("o68", "origin, last byte", xor(207)),
    case("o69", "origin d0..df written over the zeros through the stream", xor(192, "d0d1d2d3d4d5d6d7d8d9dadbdcdddedf")),
    case("o70", "origin taken away through the stream", xor(192, "d0d1d2d3d4d5d6d7d8d9dadbdcdddedf"), base="with-origin"),
    case("o71", "wrap tag, first byte", xor(208)),
    case("o72", "origin bytes of another wrap", ("copy", "rebound-dir", 192, 16, 192)),
    case("o73", "origin bytes and tag of another wrap", ("copy", "migrated", 192, 32, 192), base="with-origin"),
    case("o74", "wrap of a rename under the old name", ("copy", "rebound-dir", 60, 164, 60)),
    case("o75", OLD + "cut to its header", ("truncate", 220)),
    case("o76", "origin missing", ("drop", 192, 16)),
    case("o77", "wrap tag missing", ("drop", 208, 16)),
    case("o78", "16 bytes more before the chunks", ("append-zeros", 16), ("copy", "hello", 208, 37, 224)),
    case("o79", OLD + "220-byte header, no drawn under", forge={"shortWrap": True}),
    case("o80", OLD + "of the same size as a new empty object",
         forge={"shortWrap": True, "text": "four"}),
    case("o81", OLD + "the wrap says 4 bytes less so that the size fits",
         forge={"shortWrap": True, "text": "eight...", "length": 4}),
    case("o82", OLD + "131,073 bytes", forge={"shortWrap": True, "zeros": 131073}),
    case("o83", OLD + "its wrap and 4 zeros in a 224-byte header", forge={"shortWrap": True, "afterWrap": "00" * 4}),
    case("o84", "bound 2^63", forge={"bound": str(2**63)}),
    case("o85", "bound 2^64 - 1", forge={"bound": str(2**64 - 1)}),
    case("o86", "data key, last byte", xor(131)),
    case("o87", "length, first byte", xor(136)),
    case("o88", "length, last byte", xor(143)),
    case("o89", "mtime, first byte", xor(144)),
    case("o90", "mtime, last byte", xor(151)),
    case("o91", "bound, first byte", xor(152)),
    case("o92", "bound, top bit", xor(152, "80")),
    case("o93", "bound, last byte", xor(159)),
    case("o94", "previous, first byte", xor(160)),
    case("o95", "previous, last byte", xor(175)),
    case("o96", "writer, first byte", xor(176)),
    case("o97", "writer, last byte", xor(191)),
    case("o98", "previous a0..af written over the zeros through the stream", xor(160, "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf")),
    case("o99", "previous taken away through the stream", xor(160, "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"), base="with-all"),
    case("o100", "writer taken away through the stream", xor(176, WRITER.hex()), base="with-all"),
    case("o101", "previous and writer swapped in place", ("swap", 160, 176, 16), base="with-all"),
    case("o102", "writer and origin swapped in place", ("swap", 176, 192, 16), base="with-all"),
    case("o103", "bound of another wrap", ("copy", "migrated-all", 152, 8, 152), base="with-all"),
    case("o104", "bound, previous, writer and origin of another wrap", ("copy", "greatest", 152, 56, 152), base="with-all"),
    case("o105", "bound to tag of another wrap", ("copy", "migrated-all", 152, 72, 152), base="with-all"),
    case("o106", "bound missing", ("drop", 152, 8), base="with-all"),
    case("o107", "previous missing", ("drop", 160, 16), base="with-all"),
    case("o108", "writer missing", ("drop", 176, 16), base="with-all"),
    case("o109", "re-bound wrap, the base's key id", ("copy", "with-all", 60, 16, 60), base="migrated-all"),
    case("o110", "re-bound wrap, the base's nonce", ("copy", "with-all", 76, 24, 76), base="migrated-all"),
    case("o111", "header cut by one byte", ("truncate", 223)),
    case("o112", "one byte of the empty chunk's tag missing", ("truncate", 239), base="empty"),
    case("o113", "read under its key, the suffix included", name=FILE + ".sealed"),
    case("o114", "a name with the suffix, read without", base="suffix-in-name"),
    case("o115", "a history record under the class of another", base="history", name=HISTORY_NAME.replace("history", "access")),
    case("o116", OLD + "O made with the version id too", forge={"bodyVersionId": True}),
    case("o117", "drawn under 0", forge={"drawnUnder": 0}),
    case("o118", "drawn under, first byte", xor(132)),
    case("o119", "drawn under, last byte", xor(135)),
    case("o120", "drawn under 2 written over 1 through the stream", xor(135, "03"), base="second-from-first"),
    case("o121", "drawn under of another wrap", ("copy", "second", 132, 4, 132), base="second-from-first"),
    case("o122", "drawn under missing", ("drop", 132, 4)),
    case("o123", "drawn under before the length, 4 bytes late", ("drop", 132, 4), ("append-zeros", 4), base="with-all"),
    case("o124", "a sealing's chunks in another sealing of the same version", ("copy", "sealed-again", 224, 21, 224)),
    case("o125", "a sealing's wrap in another sealing of the same version", ("copy", "sealed-again", 60, 164, 60)),
    case("o126", "a sealing's commitment in another sealing of the same version", ("copy", "sealed-again", 28, 32, 28)),
    case("o127", "a sealing's header before the chunks of another sealing of the same version", ("copy", "sealed-again", 0, 224, 0)),
    case("o128", "a sealing's commitment, wrap and chunks, the version id of another version", ("copy", "with-all", 12, 16, 12)),
    case("o129", "another version's id in a binding", ("copy", "with-all", 12, 16, 12), base="rebound", name="/memories/b.txt"),
]

REFUSED_KEYRINGS = [
    case("k46", "unknown flag", forge={"flags": 2}),
    case("k67", "the history flag and an unknown one", forge={"flags": 3}),
    case("k68", "the highest flag", forge={"flags": 128}),
    case("k69", "the history flag set through the stream", xor(163)),
    case("k70", "the history flag taken away through the stream", xor(163), base="history-on"),
    case("k71", "no root configured, above 16,384 bytes", ("append-zeros", 16083), roots=[]),
    case("k72", "no root configured, 16,384 bytes", ("append-zeros", 16082), roots=[], expect="key_unavailable"),
    case("k73", "no root configured, root wrap of 8,193 bytes", roots=[], forge={"wrapped": "9*16386"}),
    case("k74", "no root configured, root wrap of 8,192 bytes", roots=[], forge={"wrapped": "9*16384"}, expect="key_unavailable"),
    case("k75", "a time since when, without its flag", forge={"flags": 1, "extra": "0000018bcfe56800"}),
    case("k76", "the flag of that time alone", forge={"flags": 2, "extra": "0000018bcfe56800"}),
    case("k77", "a time of 2^53", forge={"flags": 3, "extra": "0020000000000000"}),
    case("k79", "no root configured, 7F in the root id", roots=[], forge={"rootId": "env:a\x7fb"}),
    case("k80", "no root configured, 20 in the root id", roots=[], forge={"rootId": "env:a b"}),
    case("k81", "no root configured, bytes above 7F in the root id", roots=[], forge={"rootId": "env:\u00e4"}),
    case("k82", "no root configured, 21 and 7E in the root id", roots=[], forge={"rootId": "!~"}, expect="key_unavailable"),
    case("k83", "the root id differs in its last character", forge={"rootId": "env:FuvMw6YjSe1blPseOGGoYQ"}, expect="key_unavailable"),
    case("k84", "a character behind the root id", forge={"rootId": "env:FuvMw6YjSe1blPseOGGoYwA"}, expect="key_unavailable"),
    case("k85", "KK of 31 bytes, the box under it and a zero byte",
         forge={"wrappedKK": "KK31", "KK": "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e00"}),
    case("k78", "a byte behind that time", forge={"flags": 3, "extra": "0000018bcfe5680000"}),
]
KEYRINGS = [{"id": "history-on", "epoch": 3, "flags": 1, "KK": "KK2", "rootNonce": "N66", "nonce": "N77",
             "comment": "the tenant keeps history"},
            {"id": "history-since", "epoch": 3, "flags": 3, "extra": "0000018bcfe56800", "KK": "KK2", "rootNonce": "N66",
             "nonce": "N77", "comment": "and tells since when: extra stands behind the last tenant key"}]
FOREIGN = [("n33", "159 bytes of name", "x*159"), ("n34", "144 bytes of name", "x*144")]
PATHS = [
    (1, "p/q", "acme", FILE), (1, "p/q", "globex", FILE), (0, "p/q", "acme", FILE),
    (0, "p/q", "acme", "/memories/café/日本.md"), (1, "p/q", "acme", "/memories/日本/😀/.hidden"),
    (1, "p/q", "acme", "4 segments y*143"), (1, "p/q", "acme", "20 segments z*15"),
    (1, "p" * 62, "acme", "4 segments y*143"), (1, "p" * 62, "acme", "20 segments z*15"),
    (1, "p" * 34, "acme", "5 segments y*120"), (1, "p" * 35, "acme", "5 segments y*120"),
    (1, "", "acme", FILE), (1, "p/q", "acme", "5 segments x*143"),
    (0, "p/q", "acme", "/memories/a.sealed"), (1, "p/q", "acme", "/memories/x.sealed/a"),
]
COMMENTS = {1: "same NK only for the vector", 9: "exactly 1,024", 13: "a file's own name may end in the suffix",
            14: "only plain mode refuses such a directory"}

def keyring_fields(id): return {**old["keyrings"]["defaults"], **keyring_cases[id]}
def object_fields(id): return {**OBJECT_DEFAULTS, **next(c for c in [*OBJECTS, *FORGED] if c["id"] == id)}
def seal_case(id):
    fields = object_fields(id)
    return forge_object(fields, keyring_fields(fields["keyring"]))

def drawn_under(f):
    """Under which version of the tenant key a reader finds the data key to be drawn."""
    opened_by = next(version for version, _, key in entries(keyring_fields(f["keyring"])) if key == f["key"])
    return min(f["drawnUnder"], opened_by)

def forge_rebind(r):
    """The wrap of the base under the new name, the ring's last key, the new nonce, bound and drawn under; all else as it was."""
    f, ring = object_fields(r["base"]), keyring_fields(r["keyring"])
    key = entries(ring)[-1][2]
    moved = {**f, "keyring": r["keyring"], "key": key, "name": r["to"], "nonce": r["nonce"], "bound": r["bound"]}
    moved["origin"], moved["drawnUnder"] = r.get("origin", f["origin"]), drawn_under(f)
    return forge_object(moved, ring)

keyring_cases = {c["id"]: c for c in [*old["keyrings"]["cases"], *KEYRINGS]}
bytes_of = {id: forge_keyring(keyring_fields(id)) for id in keyring_cases}
keyring_ids = set(bytes_of)
bytes_of["tombstone"] = bytes.fromhex(old["keyrings"]["tombstone"])
bytes_of |= {c["id"]: seal_case(c["id"]) for c in [*OBJECTS, *FORGED]}
bytes_of |= {r["id"]: forge_rebind(r) for r in REBINDS}

def forge_of(c, defaults):
    base = c.get("base", defaults["base"])
    if base in keyring_ids:
        return forge_keyring({**keyring_fields(base), **c["forge"]})
    fields = {**object_fields(base), **c["forge"]}
    return forge_object(fields, keyring_fields(fields["keyring"]))
