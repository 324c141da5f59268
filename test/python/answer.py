"""Answers a JSON list of requests on standard input with a JSON list of answers.

Bytes stand as base64, bounds as decimal text.
"""
import base64, json, sys
from pathlib import Path
import history_records
import records
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

LETTERS = {"checkpoints": {"c": "head", "p": "part"}, "conversations": {"h": "head", "b": "body", "p": "prompt"}}

def kind_of(cls, id, content):
    """The grammar of a record: its class, and where that has several which of them."""
    if cls == "journal":
        return f"journal/{id}"
    if cls == "receipts":
        fields = json.loads(content)
        return "receipts/tokens" if "tokens" in fields else "receipts/turn" if "state" in fields else "receipts/progress"
    return f"{cls}/{LETTERS[cls][id[0]]}" if cls in LETTERS else cls

def read_record(name, content):
    _, cls, id = name.split("/")
    if cls == "history":
        record = history_records.read_history(content)
        return {"kind": f"history/{record and record['kind']}", "record": record}
    kind = kind_of(cls, id, content)
    return {"kind": kind, "record": records.read_record(kind, content)}

def read_records(q):
    """What the records of a store say, the checkpoint of a line, and the keyed hashes of texts as its lines have them."""
    store = read_store(q)
    contents = {name: record["content"] for name, record in store["records"].items()}
    checkpoints = {name.removeprefix("/checkpoints/"): b for name, b in contents.items() if name.startswith("/checkpoints/")}
    return {"records": {name: read_record(name, b) for name, b in contents.items()},
            "checkpoint": records.read_checkpoint(checkpoints, q["line"]),
            "hashes": {name: records.text_hash(store["keyring"]["NK"], unpack(text)) for name, text in q["texts"].items()}}

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
    "readRecords": read_records,
    "readStore": read_store,
    "writeStore": write_store,
}

def answer(q):
    try:
        return {"result": pack(ACTIONS[q["action"]](q))}
    except format1.Refused as refused:
        return {"code": str(refused)}

json.dump([answer(q) for q in json.load(sys.stdin)], sys.stdout)
