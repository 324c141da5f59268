"""Answers a JSON list of requests on standard input with a JSON list of answers.

Bytes stand as base64, bounds as decimal text.
"""
import base64, json, sys
from pathlib import Path
import sealed_memory as format1

def unpack(text): return base64.b64decode(text, validate=True)

def pack(value):
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: str(part) if name == "bound" else pack(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [pack(part) for part in value]
    return value

def keyring_of(q): return format1.open_keyring(unpack(q["keyring"]), [unpack(root) for root in q["roots"]], q["tenant"])
def names_of(q): return {"NK": unpack(q["nameKey"]), "mode": 0 if q["nameMode"] == "plain" else 1}

def read_store(q):
    return format1.read_store({key: unpack(b) for key, b in q["objects"].items()}, unpack(q["root"]), q["tenant"], q["prefix"])

def read_folder(q):
    folder = Path(q["folder"])
    objects = {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    return format1.read_store(objects, unpack(q["root"]), q["tenant"], q["prefix"])

def rebind(q):
    place = keyring_of(q), q["tenant"], unpack(q["object"]), q["from"], q["to"], int(q["bound"])
    return format1.rebind(*place, unpack(q["origin"]) if "origin" in q else None)

def write_store(q):
    files = {path: unpack(content) for path, content in q["files"].items()}
    mode = 0 if q["nameMode"] == "plain" else 1
    return format1.write_store(files, unpack(q["root"]), q["tenant"], mode, q["created"], q["prefix"], q.get("flags", 0), q.get("since"))

ACTIONS = {
    "hash": lambda q: format1.H(q["length"], unpack(q["key"]), unpack(q["message"])),
    "deriveKey": lambda q: format1.kdf(unpack(q["key"]), q["index"], q["context"].encode()),
    "sealBox": lambda q: format1.seal_box(unpack(q["key"]), unpack(q["nonce"]), unpack(q["additional"]), unpack(q["message"])),
    "openBox": lambda q: format1.open_box(unpack(q["key"]), unpack(q["nonce"]), unpack(q["additional"]), unpack(q["box"])),
    "openKeyring": keyring_of,
    "openObject": lambda q: format1.open_object(keyring_of(q), q["tenant"], q["name"], unpack(q["object"])),
    "encodeFile": lambda q: format1.encode_file(names_of(q), q["segments"]),
    "decodeFile": lambda q: format1.decode_file(names_of(q), q["text"], q["base"]),
    "keyedHash": lambda q: format1.keyed_hash(unpack(q["nameKey"]), q["class"], q["text"]),
    "writerOf": lambda q: format1.writer_of(unpack(q["nameKey"]), q["actor"]),
    "rebind": rebind,
    "readFolder": read_folder,
    "readStore": read_store,
    "writeStore": write_store,
}

def answer(q):
    try:
        return {"result": pack(ACTIONS[q["action"]](q))}
    except format1.Refused as refused:
        return {"code": str(refused)}

json.dump([answer(q) for q in json.load(sys.stdin)], sys.stdout)
