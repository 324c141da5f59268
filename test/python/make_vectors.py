"""Makes test/vectors/format-1.json and format-1-additions.json, or with --check says whether they are what it makes.

It knows docs/format.md alone: no code of the library takes part. What is drawn at random elsewhere has one value here.
Root keys, names, keyrings, refused keyrings, sequences and foreign names stay as they stand in the file; their bytes
are computed again and compared. All else is made from the cases below.
"""
import json, sys
from pathlib import Path
import sealed_memory as f1
from sealed_memory import D, H, b64u, kdf, lp, seal_box, u32, u64

FOLDER = Path(__file__).parent.parent / "vectors"
FILE = "/memories/notes/a.txt"
BOUND = 1_700_000_000_000 << 16

def fixed(name): return json.loads((FOLDER / name).read_text(encoding="utf-8"))

old, old_added = fixed("format-1.json"), fixed("format-1-additions.json")

def value(name): return bytes.fromhex(str(old["inputs"].get(name, name)))
def expand(text):
    character, star, count = text[:1], text[1:2], text[2:]
    return character * int(count) if star == "*" and count.isdigit() else text

NK = value("NK")
WRITER = H(16, kdf(NK, 3, b"smem-nk1"), D("writer") + b"turn_01-A")
NAMES = ({"NK": NK, "mode": 0}, {"NK": NK, "mode": 1})

# Forging, as somebody would who holds every key and follows the format only where he likes
def described(text): return bytes(int(text[6:])) if text.startswith("zeros:") else text.removeprefix("text:").encode()
def content_of(f): return bytes(f["zeros"]) if "zeros" in f else f["text"].encode()

def forge_object(f):
    ring = keyring_fields(f["keyring"])
    keyring_id = value(f.get("keyringId", ring["keyringId"]))
    body_id = value(f.get("bodyKeyringId", f.get("keyringId", ring["keyringId"])))
    content = content_of(f)
    start = bytes.fromhex(f.get("magic", "89534d310d0a1a0a") + f.get("version", "01011000")) + value(f["contentId"])
    def O(key): return H(64, value(key), D("body") + body_id + start)
    committed = O(f.get("bodyDek", f["dek"]))
    head = start + (value(f["commitment"]) if "commitment" in f else committed[32:]) + H(16, value(f["key"]), D("key-id"))
    payload = value(f["dek"]) + u64(int(f.get("length", len(content)))) + u64(int(f["mtime"]))
    if not f.get("shortWrap"):
        payload += u64(int(f["bound"])) + value(f["previous"]) + value(f["writer"])
    payload += value(f["origin"])
    tenant = lp(f.get("tenant", ring["tenant"]).encode())
    aad = D("wrap") + head + keyring_id + tenant + lp(f["name"].encode())
    wrap = seal_box(kdf(value(f["key"]), 1, b"smem-tk1"), value(f["nonce"]), aad, payload)
    n = max(1, -(-len(content) // 65536))
    chunks = f.get("chunks") or [(content[i * 65536:(i + 1) * 65536], i, i == n - 1) for i in range(n)]
    body_key = (O(f["chunkDek"]) if "chunkDek" in f else committed)[:32]
    out = head + value(f["nonce"]) + wrap + bytes.fromhex(f.get("afterWrap", ""))
    for plain, number, last in chunks:
        plain = described(plain) if isinstance(plain, str) else plain
        out += seal_box(body_key, bytes(15) + u64(number) + bytes([last]), b"", plain)
    return out

def forge_rebind(r):
    """The wrap of the base under the new name, the ring's last key, the new nonce and bound; all else as it was."""
    f, ring = object_fields(r["base"]), keyring_fields(r["keyring"])
    key = entries(ring)[-1][2]
    moved = {**f, "keyring": r["keyring"], "key": key, "name": r["to"], "nonce": r["nonce"], "bound": r["bound"]}
    moved["origin"] = r.get("origin", f["origin"])
    return forge_object(moved)

def entries(f):
    if "count" not in f:
        return f["keys"]
    return [(v, 1_700_000_000_000, (bytes(30) + v.to_bytes(2, "big")).hex()) for v in range(1, f["count"] + 1)]

def forge_keyring(f):
    root, root_nonce, keyring_id = value(f["root"]), value(f["rootNonce"]), value(f["keyringId"])
    root_id = expand(f["rootId"]) if "rootId" in f else "env:" + b64u(H(16, root, D("root-id")))
    pairs = {"app": "sealed-memory", "keyring": b64u(value(f.get("wrapKeyringId", f["keyringId"]))), "kind": "keyring",
             "tenant": f.get("wrapTenant", f["tenant"]), "version": "1"}
    canon = u32(5) + b"".join(lp(k.encode()) + lp(v.encode()) for k, v in pairs.items())
    wrapped = bytes.fromhex(f["wrapped"]) if "wrapped" in f else root_nonce + seal_box(
        kdf(root, 1, b"smem-rk1"), root_nonce, D("root") + canon, value(f.get("wrappedKK", f["KK"])))
    head = bytes.fromhex("89534d4b0d0a1a0a" + f.get("version", "01010000")) + u32(f["epoch"]) + keyring_id
    head += lp(root_id.encode()) + lp(wrapped)
    keys = entries(f)
    secret = bytes([f["mode"], f.get("flags", 0)]) + f.get("n", len(keys)).to_bytes(2, "big") + value(f["NK"])
    secret += b"".join(u32(v) + u64(int(created)) + value(key) for v, created, key in keys)
    secret += bytes.fromhex(f.get("extra", ""))
    aad = D("keyring") + head + lp(f.get("aadTenant", f["tenant"]).encode())
    return head + value(f["nonce"]) + seal_box(value(f["KK"]), value(f["nonce"]), aad, secret)

# The cases
def case(id, what, *ops, **more): return {"id": id, "what": what, **more, **({"ops": [list(op) for op in ops]} if ops else {})}
def xor(at, b="01"): return ("xor", at, b)

OBJECT_DEFAULTS = {"keyring": "one", "key": "TK1", "name": FILE, "text": "hello", "contentId": "contentId", "dek": "DEK",
                   "nonce": "N11", "mtime": 1_700_000_000_000, "bound": str(BOUND), "previous": "zero16",
                   "writer": "zero16", "origin": "zero16"}
OTHER = {"contentId": "contentId2", "dek": "DEK2", "nonce": "N66"}
FULL = {"bound": str(BOUND + 1), "previous": "contentId", "writer": WRITER.hex(), "origin": "origin"}
GREATEST = {"mtime": str(2**53 - 1), "bound": str(2**63 - 1), "previous": "f" * 32, "writer": "f" * 32, "origin": "f" * 32}
HISTORY_NAME = "/history/D_ntTl8XMK97KhvByAbnkihS-T5m5IOBsS5-oAFuJm4_-2Qz4mYF----_oKGio6Sl"
HASH = {"only": "hash"}
OBJECTS = [
    {"id": "empty", "text": ""},
    {"id": "hello"},
    {"id": "unicode", "name": "/memories/café/日本.md", "text": "é", **OTHER},
    {"id": "receipt", **HASH, "name": "/receipts/turn_01-A", **OTHER, "nonce": "N77"},
    {"id": "with-origin", **OTHER, "origin": "origin"},
    {"id": "other-tenant", **HASH, "keyring": "globex", "key": "TK2", **OTHER},
    *({"id": f"zeros{n}", **HASH, "zeros": n} for n in (65535, 65536, 65537, 131072, 131073)),
    {"id": "with-all", **OTHER, **FULL},
    {"id": "greatest", **OTHER, "nonce": "N77", **GREATEST},
    {"id": "least", **OTHER, "nonce": "N55", "mtime": 0, "bound": "0"},
    {"id": "suffix-in-name", **HASH, "name": FILE + ".sealed", "comment": "a file whose own name ends in .sealed"},
    {"id": "history", **HASH, "name": HISTORY_NAME, **OTHER, **FULL},
    *({"id": cls, **HASH, "name": f"/{cls}/A-z_9", **OTHER} for cls in ("journal", "access", "answers", "actors")),
    *({"id": cls, **HASH, "name": f"/{cls}/A-z_9", **OTHER} for cls in ("conversations", "sessions")),
]

def rebind(id, base, to, nonce, bound, keyring="two", **more):
    return {"id": id, "base": base, "keyring": keyring, "from": FILE, "to": to, "nonce": nonce, "bound": str(bound), **more}

REBINDS = [
    rebind("rebound", "hello", "/memories/b.txt", "N55", BOUND + 2, origin="zero16", comment="rename of one file"),
    rebind("rebound131073", "zeros131073", "/memories/b.txt", "N55", BOUND + 2, origin="zero16", **HASH),
    rebind("rebound-dir", "hello", "/memories/c/a.txt", "N77", BOUND + 3, origin="origin", comment="rename of a directory"),
    rebind("rebound-file", "with-origin", "/memories/b.txt", "N77", BOUND + 3, origin="zero16", **HASH,
           comment="one file again: the origin goes"),
    rebind("swept", "with-origin", FILE, "N55", BOUND + 2, **HASH, comment="key sweep: the origin stays"),
    rebind("rebound-all", "with-all", "/memories/b.txt", "N77", BOUND + 0x10000, origin="zero16",
           comment="rename of one file: previous and writer stay, the origin goes"),
    rebind("swept-all", "with-all", FILE, "N55", BOUND + 2, comment="key sweep: previous, writer and origin stay"),
    rebind("moved-all", "with-all", "/memories/c/a.txt", "N44", BOUND + 2, "one", origin="contentId2",
           comment="rename of a directory under the same key: previous and writer stay, the origin changes"),
]

NEXT = 220 + 65536 + 16  # where chunk 1 begins
OLD = "an earlier layout, never released: "
REFUSED = [
    case("o01", "empty input", ("truncate", 0)),
    case("o02", "header only", ("truncate", 220)),
    case("o03", "one byte below the smallest object", ("truncate", 235)),
    case("o04", "the shape of an empty file", ("truncate", 236)),
    case("o05", "last byte missing", ("truncate", 240)),
    case("o06", "one byte more", ("append", "00")),
    case("o07", "magic", xor(0)),
    case("o08", "keyring magic", ("set", 3, "4b")),
    case("o09", "format 2", ("set", 8, "02")),
    case("o10", "suite 0 (downgrade)", ("set", 9, "00")),
    case("o11", "chunk size", ("set", 10, "0f")),
    case("o12", "reserved", ("set", 11, "01")),
    case("o13", "contentId", xor(12)),
    case("o14", "commitment", xor(28)),
    case("o15", "keyId unknown", xor(60, "80")),
    case("o16", "keyId of another key of the ring", ("copy", "rebound", 60, 16, 60)),
    case("o17", "nonce", xor(99)),
    case("o18", "data key, first byte", xor(100)),
    case("o19", "wrap tag, last byte", xor(219, "80")),
    case("o20", "chunk", xor(220)),
    case("o21", "chunk tag", xor(240)),
    case("o22", "read under another name", name="/memories/notes/b.txt"),
    case("o23", "name as a class object", name="/journal/a"),
    case("o24", "name with a trailing slash", name=FILE + "/"),
    case("o25", "name in another normal form", base="unicode", name="/memories/cafe\u0301/日本.md"),
    case("o26", "rebound object under its old name", base="rebound"),
    case("o27", "key not in this keyring", base="rebound", keyring="one", name="/memories/b.txt"),
    case("o28", "key retired", keyring="retired"),
    case("o29", "read by another tenant", keyring="globex"),
    case("o30", "another tenant's object, its key known here", base="other-tenant"),
    case("o31", "wrap of another length", ("copy", "empty", 60, 160, 60)),
    case("o32", "wrap of another file", ("copy", "receipt", 60, 160, 60), name="/receipts/turn_01-A"),
    case("o33", "header of another file", ("copy", "receipt", 0, 60, 0)),
    case("o34", "chunks of another file", ("copy", "receipt", 220, 21, 220)),
    case("o35", "contentId and commitment swapped in place", ("swap", 12, 28, 16)),
    case("o36", "chunks 0 and 1 swapped", ("swap", 220, NEXT, 65552), base="zeros131073"),
    case("o37", "last chunk missing", ("truncate", NEXT + 65552), base="zeros131073"),
    case("o38", "middle chunk missing", ("drop", NEXT, 65552), base="zeros131073"),
    case("o39", "first chunk missing", ("drop", 220, 65552), base="zeros131073"),
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
    case("o67", "origin, first byte", xor(188)),
    case("o68", "origin, last byte", xor(203)),
    case("o69", "origin d0..df written over the zeros through the stream", xor(188, "d0d1d2d3d4d5d6d7d8d9dadbdcdddedf")),
    case("o70", "origin taken away through the stream", xor(188, "d0d1d2d3d4d5d6d7d8d9dadbdcdddedf"), base="with-origin"),
    case("o71", "wrap tag, first byte", xor(204)),
    case("o72", "origin bytes of another wrap", ("copy", "rebound-dir", 188, 16, 188)),
    case("o73", "origin bytes and tag of another wrap", ("copy", "swept", 188, 32, 188), base="with-origin"),
    case("o74", "wrap of the directory rename under the old name", ("copy", "rebound-dir", 60, 160, 60)),
    case("o75", OLD + "cut to its header", ("truncate", 180)),
    case("o76", "origin missing", ("drop", 188, 16)),
    case("o77", "wrap tag missing", ("drop", 204, 16)),
    case("o78", "16 bytes more before the chunks", ("append-zeros", 16), ("copy", "hello", 204, 37, 220)),
    case("o79", OLD + "180-byte header", forge={"shortWrap": True}),
    case("o80", OLD + "of the same size as a new empty object",
         forge={"shortWrap": True, "text": "forty bytes of old content, counted out."}),
    case("o81", OLD + "the wrap says 40 bytes less so that the size fits",
         forge={"shortWrap": True, "text": "forty-eight bytes of old content, counted out ..", "length": 8}),
    case("o82", OLD + "131,073 bytes", forge={"shortWrap": True, "zeros": 131073}),
    case("o83", OLD + "its wrap and 40 zeros in a 220-byte header", forge={"shortWrap": True, "afterWrap": "00" * 40}),
    case("o84", "bound 2^63", forge={"bound": str(2**63)}),
    case("o85", "bound 2^64 - 1", forge={"bound": str(2**64 - 1)}),
    case("o86", "data key, last byte", xor(131)),
    case("o87", "length, first byte", xor(132)),
    case("o88", "length, last byte", xor(139)),
    case("o89", "mtime, first byte", xor(140)),
    case("o90", "mtime, last byte", xor(147)),
    case("o91", "bound, first byte", xor(148)),
    case("o92", "bound, top bit", xor(148, "80")),
    case("o93", "bound, last byte", xor(155)),
    case("o94", "previous, first byte", xor(156)),
    case("o95", "previous, last byte", xor(171)),
    case("o96", "writer, first byte", xor(172)),
    case("o97", "writer, last byte", xor(187)),
    case("o98", "previous a0..af written over the zeros through the stream", xor(156, "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf")),
    case("o99", "previous taken away through the stream", xor(156, "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"), base="with-all"),
    case("o100", "writer taken away through the stream", xor(172, WRITER.hex()), base="with-all"),
    case("o101", "previous and writer swapped in place", ("swap", 156, 172, 16), base="with-all"),
    case("o102", "writer and origin swapped in place", ("swap", 172, 188, 16), base="with-all"),
    case("o103", "bound of another wrap", ("copy", "swept-all", 148, 8, 148), base="with-all"),
    case("o104", "bound, previous, writer and origin of another wrap", ("copy", "greatest", 148, 56, 148), base="with-all"),
    case("o105", "bound to tag of another wrap", ("copy", "swept-all", 148, 72, 148), base="with-all"),
    case("o106", "bound missing", ("drop", 148, 8), base="with-all"),
    case("o107", "previous missing", ("drop", 156, 16), base="with-all"),
    case("o108", "writer missing", ("drop", 172, 16), base="with-all"),
    case("o109", "re-bound wrap, the base's key id", ("copy", "with-all", 60, 16, 60), base="swept-all"),
    case("o110", "re-bound wrap, the base's nonce", ("copy", "with-all", 76, 24, 76), base="swept-all"),
    case("o111", "header cut by one byte", ("truncate", 219)),
    case("o112", "one byte of the empty chunk's tag missing", ("truncate", 235), base="empty"),
    case("o113", "read under its key, the suffix included", name=FILE + ".sealed"),
    case("o114", "a name with the suffix, read without", base="suffix-in-name"),
    case("o115", "a history record under the class of another", base="history", name=HISTORY_NAME.replace("history", "access")),
]

REFUSED_KEYRINGS = [
    case("k46", "unknown flag", forge={"flags": 2}),
    case("k67", "the history flag and an unknown one", forge={"flags": 3}),
    case("k68", "the highest flag", forge={"flags": 128}),
    case("k69", "the history flag set through the stream", xor(163)),
    case("k70", "the history flag taken away through the stream", xor(163), base="history-on"),
]
KEYRINGS = [{"id": "history-on", "epoch": 3, "flags": 1, "KK": "KK2", "rootNonce": "N66", "nonce": "N77",
             "comment": "the tenant keeps history"}]
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

ABOUT = (
    "Format 1 test vectors. Bytes are lower-case hex; a key, id or nonce is named by its entry in inputs; X*n is character X n times; "
    "numbers above 2^53 stand as decimal text; names in a case override its group's defaults. Nonces, keys and ids repeat here and "
    "nowhere else. A refuse case is its base changed by ops in order (xor/set: offset, bytes; truncate: length; drop: offset, count; "
    "swap: offset, offset, count; copy/append-from: vector, offset, count[, target offset]; append: bytes; append-zeros: count), read "
    "with the keyring and name (or tenant and roots) given; forge tells how a key holder would have made it, and stands alone where "
    "ops would be long (then size and blake2b256, unkeyed, of the whole). xor-bytes acts on the decoded text, next-character raises "
    "the last base64url character by one. p is a padded segment sealed as it is; every foreign text must be foreign in dir, as a "
    "directory's as it stands and as a file's with .sealed behind it. The text of names has no suffix, an object key has it. A "
    "keyring's keys are version, created, tenant key; flags is byte 1 of its secret, 0 unless given; lengthToSize is length, size. "
    "previous, writer and origin name what is sealed; a re-bind keeps mtime, previous, writer, content id and chunks, has the bound and "
    "nonce given, and the origin given or else the one it had. shortWrap: no bound, previous and writer, so the wrap has 80 bytes; "
    "afterWrap follows the wrap; tooMany counts bytes above 1,024 of the whole key; sequences are two keyrings read one after the "
    "other in one process. Made by test/python/make_vectors.py with PyNaCl and hashlib from docs/format.md, without the library; "
    "inputs, keys, rootWrap, names but the longest, keyrings up to full, refused keyrings up to k66 but k46, sequences, and foreign "
    "texts up to n32 were made by one implementation and verified by another before, and stand as they were.")

# Making them
def keyring_fields(id): return {**old["keyrings"]["defaults"], **keyring_cases[id]}
def object_fields(id): return {**OBJECT_DEFAULTS, **next(c for c in OBJECTS if c["id"] == id)}

keyring_cases = {c["id"]: c for c in [*old["keyrings"]["cases"], *KEYRINGS]}
bytes_of = {id: forge_keyring(keyring_fields(id)) for id in keyring_cases}
keyring_ids = set(bytes_of)
bytes_of["tombstone"] = bytes.fromhex(old["keyrings"]["tombstone"])
bytes_of |= {c["id"]: forge_object(object_fields(c["id"])) for c in OBJECTS}
bytes_of |= {r["id"]: forge_rebind(r) for r in REBINDS}

def digest(b): return H(32, b"", b).hex()

def expected(c, b):
    """The case, and behind it what its bytes are."""
    bare = {k: v for k, v in c.items() if k not in ("size", "hex", "blake2b256")}
    return {**bare, "size": len(b), **({"blake2b256": digest(b)} if c.get("only") else {"hex": b.hex()})}

def difference(a, b):
    """Operations that make b of a; None where they would be long."""
    differing = [i for i in range(min(len(a), len(b))) if a[i] != b[i]]
    runs = []
    for i in differing:
        if runs and i - runs[-1][1] <= 3:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    ops = [["set", start, b[start:end + 1].hex()] for start, end in runs]
    ops += [["truncate", len(b)]] if len(b) < len(a) else [["append", b[len(a):].hex()]] if len(b) > len(a) else []
    return ops if sum(len(str(op[-1])) for op in ops) <= 240 else None

def forged(c, defaults):
    if "forge" not in c:
        return c
    base = c.get("base", defaults["base"])
    b = forge_of(c, defaults)
    ops = difference(bytes_of[base], b)
    return {**c, **({"ops": ops} if ops is not None else {"size": len(b), "blake2b256": digest(b)})}

def forge_of(c, defaults):
    base = c.get("base", defaults["base"])
    if base in keyring_ids:
        return forge_keyring({**keyring_fields(base), **c["forge"]})
    return forge_object({**object_fields(base), **c["forge"]})

def change(b, ops):
    for verb, *rest in ops:
        b = bytearray(b)
        if verb == "xor":
            for i, byte in enumerate(bytes.fromhex(rest[1])): b[rest[0] + i] ^= byte
        elif verb == "set": b[rest[0]:rest[0] + len(rest[1]) // 2] = bytes.fromhex(rest[1])
        elif verb == "truncate": b = b[:rest[0]]
        elif verb == "drop": b = b[:rest[0]] + b[rest[0] + rest[1]:]
        elif verb == "swap":
            i, j, n = rest
            b[i:i + n], b[j:j + n] = b[j:j + n], b[i:i + n]
        elif verb == "copy":
            source, start, n, at = rest
            b[at:at + n] = bytes_of[source][start:start + n]
        elif verb == "append-from": b += bytes_of[rest[0]][rest[1]:rest[1] + rest[2]]
        elif verb == "append": b += bytes.fromhex(rest[0])
        elif verb == "append-zeros": b += bytes(rest[0])
        else: raise ValueError(verb)
    return bytes(b)

def described_path(path):
    count, _, segment = path.partition(" segments ")
    return "/memories" + f"/{expand(segment)}" * int(count) if segment else path

def object_key(index, mode, prefix, tenant, path):
    c = {"mode": mode, "prefix": prefix, "tenant": tenant, "path": path}
    if index in COMMENTS:
        c["comment"] = COMMENTS[index]
    full = described_path(path)
    *above, last = full.split("/")[2:]
    head = f"{prefix}/" if prefix else ""
    key = f"{head}tenants/{tenant}/data/" + f1.encode_segments(NAMES[mode], [*above, last]) + ".sealed"
    length = len(key.encode())
    if length > 1024:
        return {**c, "tooMany": length - 1024}
    if " segments " in path:
        return {**c, "only": "hash", "length": length, "blake2b256": digest(key.encode())}
    return {**c, "length": length, "key": key}

def name_case(segment):
    return {"dir": [], "segment": segment, "t": "00" * 16, "text": f1.encode_segments(NAMES[1], [expand(segment)]),
            "child": f1.child_tweak(NK, bytes(16), expand(segment)).hex()}

def foreign_case(id, what, segment):
    padded = f1.pad(expand(segment).encode())
    return {"id": id, "what": what, "p": padded.hex(), "dir": [], "text": f1.encode_segments(NAMES[1], [expand(segment)])}

def replaced(cases, changed):
    by_id = {c["id"]: c for c in changed}
    return [by_id.pop(c["id"], c) for c in cases] + list(by_id.values())

def make():
    hello = bytes_of["hello"]
    prefix_too_long = next(c for c in old["objectKeys"] if c.get("expect") == "misconfigured")
    keys = [object_key(i, *p) for i, p in enumerate(PATHS)]
    receipt = next(c for c in old["objectKeys"] if c["path"].startswith("/receipts/"))
    refuse_objects = {"base": "hello", "keyring": "two", "name": FILE, "expect": "integrity"}
    lengths = [0, 1, 5, 65535, 65536, 65537, 131072, 131073, 1048576, 2**30 - 1]
    return {
        "about": ABOUT,
        "inputs": old["inputs"], "keys": old["keys"], "rootWrap": old["rootWrap"],
        "helloSteps": {
            "D_wrap": D("wrap").hex(),
            "bodyMessage": (D("body") + value("keyringId") + hello[:28]).hex(),
            "O": H(64, value("DEK"), D("body") + value("keyringId") + hello[:28]).hex(),
            "wrapAad": (D("wrap") + hello[:76] + value("keyringId") + lp(b"acme") + lp(FILE.encode())).hex(),
            "wrapPlain": (value("DEK") + u64(5) + u64(1_700_000_000_000) + u64(BOUND) + bytes(48)).hex(),
            "chunkNonce": (bytes(23) + b"\1").hex(),
        },
        "names": [name_case("x*143") if c["segment"] in ("x*159", "x*143") else c for c in old["names"]],
        "objectKeys": [*keys[:9], prefix_too_long, *keys[9:12], receipt, *keys[12:]],
        "objects": {"defaults": OBJECT_DEFAULTS, "cases": [expected(c, bytes_of[c["id"]]) for c in OBJECTS]},
        "rebinds": [expected(r, bytes_of[r["id"]]) for r in REBINDS],
        "keyrings": {
            "defaults": old["keyrings"]["defaults"],
            "cases": replaced(old["keyrings"]["cases"], [expected(c, bytes_of[c["id"]]) for c in KEYRINGS]),
            "tombstone": old["keyrings"]["tombstone"],
        },
        "sizes": {"lengthToSize": [[n, 220 + n + 16 * max(1, -(-n // 65536))] for n in lengths],
                  "foreign": [0, 180, 196, 219, 220, 235, 65773, 65788, 131325, 131340]},
        "refuseObjects": {"defaults": refuse_objects, "cases": [forged(c, refuse_objects) for c in REFUSED]},
        "refuseKeyrings": {
            "defaults": old["refuseKeyrings"]["defaults"],
            "cases": replaced(old["refuseKeyrings"]["cases"],
                              [forged(c, old["refuseKeyrings"]["defaults"]) for c in REFUSED_KEYRINGS]),
        },
        "sequences": old["sequences"],
        "foreign": replaced(old["foreign"], [foreign_case(*c) for c in FOREIGN]),
    }

# The additions
CLASSES = ("journal", "access", "receipts", "answers", "history", "actors", "conversations", "sessions")
LONG_ID = "Aa0_-" * 12 + "zzzz"
TEXT = "eWjUSk4gDf-TeCxkcJ-J6yhUySN-mtjGN6PlflM1ED0"  # notes, in the root
BELOW = "Aw0LGUcCTPKxpA2SDH-rL96RW9RW2gx8f0Bimhh5OnA"  # a.txt, in notes
HASHED = [("history", FILE), ("actors", "turn_01-A"), ("conversations", "c-1"), ("sessions", "s-1"), ("journal", "x")]
ACTORS = ["turn_01-A", "a", "Größe 日本 😀", "x*256"]
FILE_KEYS = [
    (0, ["a"]), (1, ["a"]), (0, ["a.sealed"]), (1, ["a.sealed"]), (0, [".sealed"]), (1, [".sealed"]),
    (0, ["a.SEALED", "b"]), (1, ["x.sealed", "a"]), (0, ["sealed", "a"]), (0, ["notes", "a.txt"]), (1, ["notes", "a.txt"]),
    (0, ["x*143"]), (1, ["x*143"]), (0, ["x*143", "x*143"]), (0, ["x.sealed.d", ".sealedx"]),
]
INVALID_PATHS = [
    (0, ["x.sealed", "a"]), (0, ["a", "x.sealed", "b"]), (0, [".sealed", "a"]), (0, ["x*144"]), (1, ["x*144"]),
    (0, ["x*144", "a"]), (1, ["x*144", "a"]), (0, ["é*72"]), (1, ["é*72"]),
]
FOREIGN_KEYS = [
    (0, "the suffix missing", "notes/a.txt"), (1, "the suffix missing", f"{TEXT}/{BELOW}"),
    (0, "the suffix on the directory", "notes.sealed/a.txt.sealed"), (1, "the suffix on the directory", f"{TEXT}.sealed/{BELOW}.sealed"),
    (0, "the suffix on the directory alone", "notes.sealed/a.txt"), (1, "the suffix on the directory alone", f"{TEXT}.sealed/{BELOW}"),
    (0, "a directory that is all suffix", ".sealed/a.sealed"), (1, "a directory that is all suffix", f".sealed/{BELOW}.sealed"),
    (1, "the suffix doubled", f"{TEXT}/{BELOW}.sealed.sealed"),
    (0, "the suffix and no name", ".sealed"), (1, "the suffix and no name", ".sealed"),
    (0, "the suffix and no name, in a directory", "notes/.sealed"), (1, "the suffix and no name, in a directory", f"{TEXT}/.sealed"),
    (0, "the suffix in capitals", "notes/a.txt.SEALED"), (1, "the suffix in capitals", f"{TEXT}/{BELOW}.SEALED"),
    (0, "the suffix as a segment of its own", "notes/sealed"), (0, "the suffix without its dot", "notes/a.txtsealed"),
    (1, "the suffix without its dot", f"{TEXT}/{BELOW}sealed"), (0, "the suffix cut", "notes/a.txt.seale"),
    (1, "the suffix cut", f"{TEXT}/{BELOW}.seale"), (0, "a character behind the suffix", "notes/a.txt.sealedx"),
    (1, "a slash behind the suffix", f"{TEXT}/{BELOW}.sealed/"), (0, "a slash behind the suffix", "notes/a.txt.sealed/"),
    (1, "the suffix twice, a slash between", f"{TEXT}/{BELOW}.sealed/.sealed"), (1, "a plain name", "notes/a.txt.sealed"),
    (1, "the text of another directory", f"{BELOW}.sealed"), (0, "144 bytes of name", "x" * 144 + ".sealed"),
    (0, "144 bytes of directory", "x" * 144 + "/a.sealed"), (1, "a directory for foreign", f"notes/{BELOW}.sealed"),
    (0, "a dot for a name", "notes/..sealed"), (0, "no text", ""), (1, "no text", ""),
]
SEGMENTS = {
    "accept": ["a", "x*143", "é*71", "日*47", "😀*35", ".sealed", "a.sealed", "...", "%", "%41", "%2", "%c0%ae", "%zz",
               "a\u200db", "a\u200cb", "cafe\u0301", "\u0378", " ", "a:b*c?", "~"],
    "refuse": ["", ".", "..", "x*144", "é*72", "日*48", "😀*36", "/", "a/b", "a\\b", "a\u0000", "a\u007f", "a\u0085", "a\n",
               "\ufeffa", "a\u00ad", "a\u202e", "a\u2028", "a\u2029", "a\ud800", "%2e", "%2E", "%2f", "%2F", "%5c", "%5C", "%00",
               "%252e", "%25252e", "%%32e", "%2%65", "%25%32%65", "a%2eb"],
}
PLAIN_FOREIGN = ["", "/.sealed", "/", "a/", "a/.sealed", "/a.sealed", "a//b.sealed", "..sealed", "...sealed", "a/../b.sealed",
                 "a\\b.sealed", "a\u0000b.sealed", "a\n.sealed", "a.sealed\n", "\ufeffa.sealed", "a\u202eb.sealed",
                 "a\u2028.sealed", "%2e%2e.sealed", "%252e.sealed", "%2e/a.sealed", "x" * 144 + ".sealed", "é" * 72 + ".sealed"]
NO_RECORD = ["history", "history/", "history/a/b", "history/a.sealed", "history/" + "x" * 65, "History/a", "histories/a",
             "actors/é", "sessions/a b", "conversations/..", "tombstones/a", "/history/a", "probe/a", "data", ""]
ADDED_ABOUT = (
    "What the project adds to format-1.json, in the same conventions; keys, ids and nonces are named by the entries of its inputs. "
    "Made by test/python/make_vectors.py with PyNaCl and hashlib, without the library. A tenant id or prefix that must be refused "
    "expects misconfigured, and so does every text in rootTexts.refuse; a path in invalidPaths expects invalid_path. writers are the "
    "16 bytes that stand in a wrap for an actor's text. recordKeys tell what follows the tenant's prefix. fileKeys, invalidPaths and "
    "foreignKeys tell what follows data/ for segments in name mode 0 (plain) or 1; plainForeign are such texts that are foreign in "
    "plain mode. tampered: each byte of each base, changed by each mask, must be refused.")

def segments_of(segments): return [expand(s) for s in segments]

def make_added():
    kept = {k: old_added[k] for k in ("nameId", "tombstones", "tenantIds", "prefixes", "rootTexts")}
    asked = [(c["class"], c["text"]) for c in old_added["keyedHashes"] if c["class"] not in dict(HASHED)] + HASHED
    K_id = kdf(NK, 3, b"smem-nk1")
    return {
        "about": ADDED_ABOUT,
        "nameId": kept["nameId"],
        "keyedHashes": [{"class": c, "text": x, "hash": b64u(H(32, K_id, D(c) + expand(x).encode()))} for c, x in asked],
        "writers": [{"actor": a, "writer": H(16, K_id, D("writer") + expand(a).encode()).hex()} for a in ACTORS],
        "tombstones": kept["tombstones"],
        "tenantIds": kept["tenantIds"],
        "prefixes": kept["prefixes"],
        "rootTexts": kept["rootTexts"],
        "segments": SEGMENTS,
        "recordKeys": {"accept": [{"class": c, "id": i, "key": f"{c}/{i}"} for c in CLASSES for i in ("A-z_9", LONG_ID)],
                       "refuse": NO_RECORD},
        "fileKeys": [{"mode": m, "segments": s, "text": f1.encode_segments(NAMES[m], segments_of(s)) + ".sealed"}
                     for m, s in FILE_KEYS],
        "invalidPaths": [{"mode": m, "segments": s} for m, s in INVALID_PATHS],
        "foreignKeys": [{"id": f"f{i:02}", "what": w, "mode": m, "text": t} for i, (m, w, t) in enumerate(FOREIGN_KEYS, 1)],
        "plainForeign": PLAIN_FOREIGN,
        "tampered": {"bases": ["with-all", "rebound-all"], "masks": ["01", "80", "ff"]},
    }

# Reading them with the reader of sealed_memory.py
def code_of(action):
    try:
        action()
    except f1.Refused as refused:
        return str(refused)
    return "ok"

def must(condition, what):
    if not condition:
        raise SystemExit(f"not as it should be: {what}")

def verify(v, added):
    rings = {id: f1.open_keyring(bytes_of[id], [value("root")], keyring_fields(id)["tenant"])
             for id in keyring_ids if "rootId" not in keyring_fields(id)}
    def read(keyring, name, b): return f1.open_object(rings[keyring], keyring_fields(keyring)["tenant"], name, b)
    for c in v["keyrings"]["cases"]:
        must(expected(c, bytes_of[c["id"]]) == c, c["id"])
    for c in v["objects"]["cases"]:
        f = object_fields(c["id"])
        told = {"content": content_of(f), "contentId": value(f["contentId"]), "mtime": int(f["mtime"]), "bound": int(f["bound"])}
        told |= {field: value(f[field]) for field in ("previous", "writer", "origin")}
        must(read(f["keyring"], f["name"], bytes_of[c["id"]]) == told, c["id"])
    for r in v["rebinds"]:
        f, b, base = object_fields(r["base"]), bytes_of[r["id"]], bytes_of[r["base"]]
        opened, before = read(r["keyring"], r["to"], b), read(f["keyring"], r["from"], base)
        must(opened == {**before, "bound": int(r["bound"]), "origin": value(r.get("origin", f["origin"]))}, r["id"])
        must((b[:60], b[220:]) == (base[:60], base[220:]) and b[76:220] != base[76:220], r["id"])
    for group, find in (("refuseObjects", "name"), ("refuseKeyrings", "tenant")):
        defaults = v[group]["defaults"]
        for c in v[group]["cases"]:
            b = change(bytes_of[c.get("base", defaults["base"])], c.get("ops", []))
            if "forge" in c:
                forgery = forge_of(c, defaults)
                must(forgery == b if "ops" in c else digest(forgery) == c["blake2b256"], c["id"])
                b = forgery
            else:
                must(b != bytes_of["hello"] or "ops" not in c, c["id"])
            q = {**defaults, **c}
            read_it = (lambda: read(q["keyring"], q["name"], b)) if find == "name" else (
                lambda: f1.open_keyring(b, [value(root) for root in q["roots"]], q["tenant"]))
            must(code_of(read_it) == q["expect"], f"{c['id']} {code_of(read_it)}")
    for c in v["names"]:
        segments = [*c["dir"], expand(c["segment"])]
        must(f1.encode_segments(NAMES[1], segments).split("/")[-1] == c["text"], c)
        must(f1.decode_file(NAMES[1], c["text"] + ".sealed", c["dir"]) == segments[len(c["dir"]):], c)
        must(f1.child_tweak(NK, bytes.fromhex(c["t"]), expand(c["segment"])).hex() == c["child"], c)
    for c in v["foreign"]:
        must(f1.decode_segments(NAMES[1], c["text"], c["dir"]) is None, c["id"])
        must(f1.decode_file(NAMES[1], c["text"] + ".sealed", c["dir"]) is None, c["id"])
    for c in v["objectKeys"]:
        if c["path"].startswith("/memories") or " segments " in c["path"]:
            make_key = lambda: f1.file_key(NAMES[c["mode"]], c["tenant"], described_path(c["path"]), c["prefix"])
            code = c.get("expect", "invalid_path" if "tooMany" in c else "ok")
            must(code_of(make_key) == code and ("key" not in c or make_key() == c["key"]), c)
    for length, size in v["sizes"]["lengthToSize"]:
        must(f1.sealed_size(length) == size and f1.content_length(size) == length, size)
    must(all(f1.content_length(size) is None for size in v["sizes"]["foreign"]), "sizes")
    for base in added["tampered"]["bases"]:
        b, name = bytes_of[base], next((r["to"] for r in REBINDS if r["id"] == base), FILE)
        read("two", name, b)
        for i in range(len(b)):
            for mask in added["tampered"]["masks"]:
                must(code_of(lambda: read("two", name, change(b, [xor(i, mask)]))) == "integrity", (base, i, mask))
    for c in added["keyedHashes"]:
        must(f1.keyed_hash(NK, c["class"], expand(c["text"])) == c["hash"], c)
    must(old_added["keyedHashes"] == added["keyedHashes"][:len(old_added["keyedHashes"])], "keyed hashes that were told before")
    for c in added["writers"]:
        must(f1.writer_of(NK, expand(c["actor"])).hex() == c["writer"], c)
    must(all(f1.valid_segment(expand(s)) for s in added["segments"]["accept"]), "segments")
    for s in added["segments"]["refuse"]:
        must(not f1.valid_segment(expand(s)), repr(s))
    for c in added["fileKeys"]:
        must(f1.encode_file(NAMES[c["mode"]], segments_of(c["segments"])) == c["text"], c)
        must(f1.decode_file(NAMES[c["mode"]], c["text"]) == segments_of(c["segments"]), c)
    for c in added["invalidPaths"]:
        must(code_of(lambda: f1.encode_file(NAMES[c["mode"]], segments_of(c["segments"]))) == "invalid_path", c)
    for c in added["foreignKeys"]:
        must(f1.decode_file(NAMES[c["mode"]], c["text"]) is None, c)
    for text in added["plainForeign"]:
        must(f1.decode_file(NAMES[0], text) is None, repr(text))

# Writing them: one case a line
def line(x): return json.dumps(x, ensure_ascii=False, separators=(",", ":"))
def lines(cases): return "[\n" + ",\n".join(f" {line(c)}" for c in cases) + "\n ]"

def group(name, x):
    if isinstance(x, str):
        return f' "{name}": {line(x)}'
    if isinstance(x, list):
        return f' "{name}": {lines(x)}'
    indented = (f'  "{k}": {lines(y) if k == "cases" else line(y)}' for k, y in x.items())
    return f' "{name}": {{\n' + ",\n".join(indented) + "\n }"

vectors, added = make(), make_added()
verify(vectors, added)
texts = {"format-1.json": "{\n" + ",\n".join(group(k, x) for k, x in vectors.items()) + "\n}\n",
         "format-1-additions.json": json.dumps(added, indent=1) + "\n"}
for name, text in texts.items():
    if "--check" in sys.argv[1:]:
        must((FOLDER / name).read_text(encoding="utf-8") == text, f"{name} is not what this program makes")
    else:
        (FOLDER / name).write_text(text, encoding="utf-8")
