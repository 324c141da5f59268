"""Makes test/vectors/format-1.json and format-1-additions.json, or with --check says whether they are what it makes.

It knows docs/format.md alone: no code of the library takes part. What is drawn at random elsewhere has one value here.
Root keys, names, keyrings, refused keyrings, sequences and foreign names stay as they stand in the file; their bytes
are computed again and compared. All else is made from the cases below.
"""
import json, sys
import sealed_memory as f1
from sealed_memory import D, H, lp, u32, u64
from vector_additions import make_added
from vector_cases import (BOUND, COMMENTS, FILE, FOREIGN, FORGED, KEYRINGS, OBJECT_DEFAULTS, OBJECTS, PATHS, REBINDS, REFUSED,
                          REFUSED_KEYRINGS, bytes_of, forge_of)
from vector_check import must, verify
from vector_forge import FOLDER, NAMES, NK, described_path, difference, digest, expand, expected, old, value

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
    "key is the tenant key an object is sealed under, a re-bind takes the last one of its keyring. "
    "previous, writer and origin name what is sealed; a re-bind keeps version id, mtime, previous, writer, commitment and chunks, has the bound and "
    "nonce given, the smaller of drawn under and the version of the tenant key that opened it, and the origin given or else the one it "
    "had. shortWrap: no drawn under, so w has 104 bytes; bodyVersionId: O is made with bytes 0-27; "
    "afterWrap follows the wrap; tooMany counts bytes above 1,024 of the whole key; sequences are two keyrings read one after the "
    "other in one process; tombstone, there and in keyrings, is the older word for the shred marker. Made by test/python/make_vectors.py with PyNaCl and hashlib from docs/format.md, without the library; "
    "inputs, keys, rootWrap, names but the longest, keyrings up to full, refused keyrings up to k66 but k46, sequences, and foreign "
    "texts up to n32 were made by one implementation and verified by another before, and stand as they were.")

def forged(c, defaults):
    if "forge" not in c:
        return c
    base = c.get("base", defaults["base"])
    b = forge_of(c, defaults)
    ops = difference(bytes_of[base], b)
    return {**c, **({"ops": ops} if ops is not None else {"size": len(b), "blake2b256": digest(b)})}

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
            "bodyMessage": (D("body") + value("keyringId") + hello[:12]).hex(),
            "O": H(64, value("DEK"), D("body") + value("keyringId") + hello[:12]).hex(),
            "wrapAad": (D("wrap") + hello[:76] + value("keyringId") + lp(b"acme") + lp(FILE.encode())).hex(),
            "wrapPlain": (value("DEK") + u32(1) + u64(5) + u64(1_700_000_000_000) + u64(BOUND) + bytes(48)).hex(),
            "chunkNonce": (bytes(23) + b"\1").hex(),
        },
        "names": [name_case("x*143") if c["segment"] in ("x*159", "x*143") else c for c in old["names"]],
        "objectKeys": [*keys[:9], prefix_too_long, *keys[9:12], receipt, *keys[12:]],
        "objects": {"defaults": OBJECT_DEFAULTS, "cases": [expected(c, bytes_of[c["id"]]) for c in OBJECTS]},
        "forgedObjects": [expected(c, bytes_of[c["id"]]) for c in FORGED],
        "rebinds": [expected(r, bytes_of[r["id"]]) for r in REBINDS],
        "keyrings": {
            "defaults": old["keyrings"]["defaults"],
            "cases": replaced(old["keyrings"]["cases"], [expected(c, bytes_of[c["id"]]) for c in KEYRINGS]),
            "tombstone": old["keyrings"]["tombstone"],
        },
        "sizes": {"lengthToSize": [[n, 224 + n + 16 * max(1, -(-n // 65536))] for n in lengths],
                  "foreign": [0, 180, 196, 220, 223, 224, 236, 239, 65777, 65792, 131329, 131344]},
        "refuseObjects": {"defaults": refuse_objects, "cases": [forged(c, refuse_objects) for c in REFUSED]},
        "refuseKeyrings": {
            "defaults": old["refuseKeyrings"]["defaults"],
            "cases": replaced(old["refuseKeyrings"]["cases"],
                              [forged(c, old["refuseKeyrings"]["defaults"]) for c in REFUSED_KEYRINGS]),
        },
        "sequences": old["sequences"],
        "foreign": replaced(old["foreign"], [foreign_case(*c) for c in FOREIGN]),
    }

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
