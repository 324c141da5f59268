"""The Python reader as a program of the testkit (test/testkit/README.md): requests on standard input, answers on standard output."""
import hashlib, json, sys
import sealed_memory as format1

def keyring_of(q):
    return format1.open_keyring(bytes.fromhex(q["keyring"]), [bytes.fromhex(root) for root in q["roots"]], q["tenant"])

def names_of(q): return {"NK": bytes.fromhex(q["nameKey"]), "mode": q["mode"]}

def open_keyring(q):
    ring = keyring_of(q)
    return {"epoch": ring["epoch"], "keyringId": ring["id"].hex(), "mode": ring["mode"], "flags": ring["flags"], "nameKey": ring["NK"].hex()}

def open_object(q):
    opened = format1.open_object(keyring_of(q), q["tenant"], q["name"], bytes.fromhex(q["object"]))
    content = opened.pop("content")
    told = {field: value.hex() if isinstance(value, bytes) else value for field, value in opened.items()}
    return {**told, "bound": str(opened["bound"]), "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}

def is_tombstone(q):
    return format1.is_tombstone(bytes.fromhex(q["bytes"]))

ACTIONS = {
    "open_keyring": open_keyring,
    "open_object": open_object,
    "is_tombstone": is_tombstone,
    "encode_file": lambda q: format1.encode_file(names_of(q), q["segments"]),
    "decode_file": lambda q: format1.decode_file(names_of(q), q["text"]),
    "is_segment": lambda q: format1.valid_segment(q["segment"]),
    "keyed_hash": lambda q: format1.keyed_hash(bytes.fromhex(q["nameKey"]), q["class"], q["text"]),
    "sealed_size": lambda q: format1.sealed_size(q["length"]),
    "content_length": lambda q: format1.content_length(q["size"]),
}

def answer(q):
    try:
        return {"result": ACTIONS[q["do"]](q)}
    except format1.Refused as refused:
        return {"code": str(refused)}

for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], **answer(request)}), flush=True)
