"""What the project adds to the vectors: test/vectors/format-1-additions.json."""
import sealed_memory as f1
from sealed_memory import D, H, b64u, kdf, u32
from vector_cases import BOUND, FILE, RENAME, keyring_fields, object_fields
from vector_entries import bounds, listings, readings, root_ids
from vector_forge import NAMES, NK, expand, old_added, payload_of, secret_of
from vector_history import actor_records, history_records
from vector_records import checkpoints, record_contents, record_ids, text_hashes

CLASSES = ("journal", "access", "receipts", "answers", "history", "actors", "checkpoints", "conversations", "sessions")
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
               "\ufeffa", "a\u00ad", "a\u202e", "a\u2028", "a\u2029", "%2e", "%2E", "%2f", "%2F", "%5c", "%5C", "%00",
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
    "plain mode. illFormed are texts in UTF-16, big-endian, that are neither segment nor prefix. steps are what comes between, for who looks for a mistake. tampered: each byte of each base, changed by each mask, must be refused. listings "
    "are entries of a listing under the prefix p/q of the tenant acme, with the logical name of what is a file or a record, damaged "
    "or not. bounds tell the bound of a version made at that clock, in ms, above the greatest bound replaced, where there is one. An "
    "ARN in rootIds.refuse expects misconfigured. readings are keyrings that one process reads one after the other, and its answers, "
    "where the operator configured a least epoch or not; tombstone is the shred marker. historyRecords and actorRecords are "
    "contents of records: in record and id what a reader finds in them, with ids of 16 bytes and the text in hex; what is refused is "
    "for a reader no such record.")

def segments_of(segments): return [expand(s) for s in segments]

def name_steps(segment):
    """Each step of the encrypted name of a segment in the root."""
    p, t = f1.pad(segment.encode()), bytes(16)
    siv = H(16, kdf(NK, 1, b"smem-nk1"), b"seg" + t + p)
    stream = H(64, kdf(NK, 2, b"smem-nk1"), siv + u32(0))[:len(p)]
    c = f1.xor(p, stream)
    steps = {"t": t, "p": p, "siv": siv, "stream": stream, "c": c}
    return {"segment": segment, **{step: x.hex() for step, x in steps.items()}, "text": b64u(siv + c)}

def steps():
    complete = object_fields("with-all")
    rebound = {**complete, "bound": str(BOUND + 0x10000), "origin": RENAME}
    return {
        "name": name_steps("notes"),
        "wrapPlain": {"with-all": payload_of(complete, 5).hex(), "rebound-all": payload_of(rebound, 5).hex()},
        "keyringSecret": {"one": secret_of(keyring_fields("one")).hex()},
    }

def opened_tombstones(tombstones):
    """What a reader answers that asks for what lies there, on a store whose writers make tombstones, and on another."""
    return [{"bytes": b, "makesTombstones": makes, "answer": "absent" if makes and kind == "valid" else "integrity"}
            for kind in ("valid", "invalid") for b in tombstones[kind] for makes in (True, False)]

def make_added():
    kept = {k: old_added[k] for k in ("nameId", "tombstones", "tenantIds", "prefixes", "rootTexts")}
    asked = [(c["class"], c["text"]) for c in old_added["keyedHashes"] if c["class"] not in dict(HASHED)] + HASHED
    K_id = kdf(NK, 3, b"smem-nk1")
    return {
        "about": ADDED_ABOUT,
        "steps": steps(),
        "nameId": kept["nameId"],
        "keyedHashes": [{"class": c, "text": x, "hash": b64u(H(32, K_id, D(c) + expand(x).encode()))} for c, x in asked],
        "writers": [{"actor": a, "writer": H(16, K_id, D("writer") + expand(a).encode()).hex()} for a in ACTORS],
        "tombstones": kept["tombstones"],
        "openedTombstones": opened_tombstones(kept["tombstones"]),
        "tenantIds": kept["tenantIds"],
        "prefixes": {**kept["prefixes"], "refuse": [p for p in kept["prefixes"]["refuse"] if p != "\ud800"]},
        "rootTexts": kept["rootTexts"],
        "segments": SEGMENTS,
        "illFormed": ["d800", "0061dc00", "dc00d800"],
        "recordKeys": {"accept": [{"class": c, "id": i, "key": f"{c}/{i}"} for c in CLASSES for i in ("A-z_9", LONG_ID)],
                       "refuse": NO_RECORD},
        "fileKeys": [{"mode": m, "segments": s, "text": f1.encode_segments(NAMES[m], segments_of(s)) + ".sealed"}
                     for m, s in FILE_KEYS],
        "invalidPaths": [{"mode": m, "segments": s} for m, s in INVALID_PATHS],
        "foreignKeys": [{"id": f"f{i:02}", "what": w, "mode": m, "text": t} for i, (m, w, t) in enumerate(FOREIGN_KEYS, 1)],
        "plainForeign": PLAIN_FOREIGN,
        "tampered": {"bases": ["with-all", "rebound-all"], "masks": ["01", "80", "ff"]},
        "listings": listings(),
        "bounds": bounds(),
        "rootIds": root_ids(),
        "readings": readings(),
        "historyRecords": history_records(),
        "actorRecords": actor_records(),
        "records": record_contents(),
        "recordIds": record_ids(),
        "checkpoints": checkpoints(),
        "textHashes": text_hashes(),
    }
