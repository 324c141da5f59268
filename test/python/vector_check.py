"""Opens all vectors and refuses those that must be refused, with the reader of sealed_memory.py."""
import records
import sealed_memory as f1
from history_records import history_id, read_actor, read_history
from vector_additions import segments_of
from vector_cases import FILE, REBINDS, bytes_of, drawn_under, forge_of, keyring_fields, keyring_ids, object_fields, xor
from vector_forge import NAMES, NK, change, content_of, digest, expand, expected, described_path, old_added, value

def code_of(action):
    try:
        action()
    except f1.Refused as refused:
        return str(refused)
    return "ok"

def must(condition, what):
    if not condition:
        raise SystemExit(f"not as it should be: {what}")

def drawing(*values):
    """Gives each of the values once, by its length, where a writer draws."""
    left = list(values)
    def draw(length):
        found = next(x for x in left if len(x) == length)
        left.remove(found)
        return found
    return draw

def sealed(f, ring):
    """The object of the case, as the writer of sealed_memory.py makes it."""
    version = {"versionId": value(f["versionId"]), "mtime": int(f["mtime"]), "previous": value(f["previous"]), "writer": value(f["writer"])}
    f1.draw = drawing(value(f["dek"]), value(f["nonce"]))
    return f1.seal(ring, keyring_fields(f["keyring"])["tenant"], f["name"], version, content_of(f), int(f["bound"]), value(f["origin"]))

def check_writers(v, rings):
    for c in v["objects"]["cases"]:
        f = object_fields(c["id"])
        must(sealed(f, rings[f["keyring"]]) == bytes_of[c["id"]], f"{c['id']}, written")
    for c in v["rebinds"]:
        f, r = object_fields(c["base"]), next(r for r in REBINDS if r["id"] == c["id"])
        f1.draw = drawing(value(r["nonce"]))
        origin = value(r["origin"]) if "origin" in r else None
        made = f1.rebind(rings[r["keyring"]], "acme", bytes_of[r["base"]], r["from"], r["to"], int(r["bound"]), origin)
        must(made == bytes_of[r["id"]], f"{r['id']}, written")
    for c in v["keyrings"]["cases"]:
        f = keyring_fields(c["id"])
        if c["id"] in rings:
            f1.draw = drawing(value(f["KK"]), value(f["rootNonce"]), value(f["nonce"]))
            must(f1.seal_keyring(rings[c["id"]], value(f["root"]), f["tenant"]) == bytes_of[c["id"]], f"{c['id']}, written")

def verify(v, added):
    rings = {id: f1.open_keyring(bytes_of[id], [value("root")], keyring_fields(id)["tenant"])
             for id in keyring_ids if "rootId" not in keyring_fields(id)}
    def read(keyring, name, b): return f1.open_object(rings[keyring], keyring_fields(keyring)["tenant"], name, b)
    for c in v["keyrings"]["cases"]:
        must(expected(c, bytes_of[c["id"]]) == c, c["id"])
    for c in [*v["objects"]["cases"], *v["forgedObjects"]]:
        f = object_fields(c["id"])
        told = {"content": content_of(f), "versionId": value(f["versionId"]), "drawnUnder": drawn_under(f), "mtime": int(f["mtime"]), "bound": int(f["bound"])}
        told |= {field: value(f[field]) for field in ("previous", "writer", "origin")}
        must(read(f["keyring"], f["name"], bytes_of[c["id"]]) == told, c["id"])
    check_writers(v, rings)
    for r in v["rebinds"]:
        f, b, base = object_fields(r["base"]), bytes_of[r["id"]], bytes_of[r["base"]]
        opened, before = read(r["keyring"], r["to"], b), read(f["keyring"], r["from"], base)
        must(opened == {**before, "bound": int(r["bound"]), "origin": value(r.get("origin", f["origin"]))}, r["id"])
        must((b[:60], b[224:]) == (base[:60], base[224:]) and b[76:224] != base[76:224], r["id"])
    for group, find in (("refuseObjects", "name"), ("refuseKeyrings", "tenant")):
        defaults = v[group]["defaults"]
        for c in v[group]["cases"]:
            b = change(bytes_of[c.get("base", defaults["base"])], c.get("ops", []), bytes_of)
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
    for c in v["sequences"]:
        answers = f1.read_in_turn([bytes_of[c["first"]], bytes_of[c["then"]]], [value("root")], "acme")
        must(answers[1] == c["expect"], c)
    for length, size in v["sizes"]["lengthToSize"]:
        must(f1.sealed_size(length) == size and f1.content_length(size) == length, size)
    must(all(f1.content_length(size) is None for size in v["sizes"]["foreign"]), "sizes")
    for base in added["tampered"]["bases"]:
        b, name = bytes_of[base], next((r["to"] for r in REBINDS if r["id"] == base), FILE)
        read("two", name, b)
        for i in range(len(b)):
            for mask in added["tampered"]["masks"]:
                must(code_of(lambda: read("two", name, change(b, [xor(i, mask)], bytes_of))) == "integrity", (base, i, mask))
    for c in added["openedTombstones"]:
        def ask(): return f1.read_object(rings["two"], "acme", FILE, bytes.fromhex(c["bytes"]), c["makesTombstones"])
        must((code_of(ask) if c["answer"] == "integrity" else "absent" if ask() is None else "there") == c["answer"], c)
    for kind, b in ((kind, bytes.fromhex(b)) for kind in ("valid", "invalid") for b in added["tombstones"][kind]):
        must(f1.is_tombstone(b) == (kind == "valid"), b)
    first, again = bytes_of["hello"], bytes_of["sealed-again"]
    must(first[12:28] == again[12:28] and first[28:60] != again[28:60] and first[224:] != again[224:], "one version, two sealings")
    for c in added["keyedHashes"]:
        must(f1.keyed_hash(NK, c["class"], expand(c["text"])) == c["hash"], c)
    must(old_added["keyedHashes"] == added["keyedHashes"][:len(old_added["keyedHashes"])], "keyed hashes that were told before")
    for c in added["writers"]:
        must(f1.writer_of(NK, expand(c["actor"])).hex() == c["writer"], c)
    must(all(f1.valid_segment(expand(s)) for s in added["segments"]["accept"]), "segments")
    for s in added["segments"]["refuse"]:
        must(not f1.valid_segment(expand(s)), repr(s))
    for units in added["illFormed"]:
        text = bytes.fromhex(units).decode("utf-16-be", "surrogatepass")
        must(not f1.valid_segment(text) and code_of(lambda: f1.check_place(text, "acme")) == "misconfigured", units)
    for code, verdict in (("ok", "accept"), ("misconfigured", "refuse")):
        for text in added["prefixes"][verdict]:
            must(code_of(lambda: f1.check_place(text, "acme")) == code, repr(text))
        for text in added["tenantIds"][verdict]:
            must(code_of(lambda: f1.check_place("", text)) == code, repr(text))
    for arn in added["rootIds"]["refuse"]:
        must(code_of(lambda: f1.kms_root_id(arn)) == "misconfigured", repr(arn))
    must(code_of(lambda: f1.parse_root(v["keys"]["rootText"])) == "ok", "root text")
    for text in added["rootTexts"]["refuse"]:
        must(code_of(lambda: f1.parse_root(text)) == "misconfigured", repr(text))
    for c in added["fileKeys"]:
        must(f1.encode_file(NAMES[c["mode"]], segments_of(c["segments"])) == c["text"], c)
        must(f1.decode_file(NAMES[c["mode"]], c["text"]) == segments_of(c["segments"]), c)
    for c in added["invalidPaths"]:
        must(code_of(lambda: f1.encode_file(NAMES[c["mode"]], segments_of(c["segments"]))) == "invalid_path", c)
    for c in added["foreignKeys"]:
        must(f1.decode_file(NAMES[c["mode"]], c["text"]) is None, c)
    for text in added["plainForeign"]:
        must(f1.decode_file(NAMES[0], text) is None, repr(text))
    for c in added["historyRecords"]["accept"]:
        r = read_history(bytes.fromhex(c["content"]))
        must(r == c["record"], c["what"])
        must("id" not in c or history_id(NK, r["path"], r["bound"], bytes.fromhex(r["id"])) == c["id"], c["what"])
    for c in added["historyRecords"]["refuse"]:
        must(read_history(bytes.fromhex(c["content"])) is None, c)
    for c in added["actorRecords"]["accept"]:
        must(read_actor(bytes.fromhex(c["content"])) == c["actor"], c)
    for b in added["actorRecords"]["refuse"]:
        must(read_actor(bytes.fromhex(b)) is None, b)
    for group in added["records"]:
        for c in group["accept"]:
            must(records.read_record(group["kind"], bytes.fromhex(c["content"])) == c["record"] is not None, (group["kind"], c))
        for b in group["refuse"]:
            must(records.read_record(group["kind"], bytes.fromhex(b)) is None, (group["kind"], bytes.fromhex(b)))
    check_ids(added["recordIds"])
    for c in added["checkpoints"]["accept"]:
        read = records.read_checkpoint({id: bytes.fromhex(b) for id, b in c["records"].items()}, c["line"])
        must(read is not None and records.facts_of(read["head"]) == c["facts"], c["what"])
        secret, run = f1.unb64u(read["head"]["secret"]), read["head"]["run"]
        parts = [bytes.fromhex(c["records"][records.part_id(run, i)]) for i in range(read["head"]["parts"])]
        must([records.part_digest(secret, i, b).hex() for i, b in enumerate(parts)] == c["partDigests"], c["what"])
        must(records.line_of(read["head"], parts) == c["line"], c["what"])
    for c in added["checkpoints"]["refuse"]:
        must(records.read_checkpoint({id: bytes.fromhex(b) for id, b in c["records"].items()}, c["line"]) is None, c["what"])
    for c in added["textHashes"]:
        must(records.text_hash(NK, bytes.fromhex(c["content"])) == c["hash"], c)

def check_ids(ids):
    makers = {
        "access": lambda c: records.access_id(NK, c["at"], c["path"]), "receipts": lambda c: records.receipt_id(NK, c["turn"]),
        "progress": lambda c: records.receipt_hash(NK, "progress", f"{c['receipt']} {c['owner']}"),
        "tokens": lambda c: records.receipt_hash(NK, "tokens", str(c["at"] // 86_400_000)),
        "actors": lambda c: f1.keyed_hash(NK, "actors", c["actor"]), "sessions": lambda c: records.page_id(NK, c["key"], c["page"]),
        "prompts": lambda c: records.prompt_id(NK, c["conversation"], c["turn"]),
        "checkpoints": lambda c: records.head_id(c["number"]) if "number" in c else records.part_id(c["run"], c["part"]),
    }
    for cls, make in makers.items():
        must(all(make(c) == c["id"] for c in ids[cls]), cls)
    for c in ids["messages"]:
        must(records.receipt_hash(NK, "message", c["message"]) == c["hash"], c)
    for c in ids["conversations"]:
        made = records.conversation_id(NK, c["conversation"]), records.body_id(NK, c["conversation"], bytes.fromhex(c["random"]))
        must(made == (c["head"], c["body"]), c)
