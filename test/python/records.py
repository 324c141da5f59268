"""What records of the classes beside `history` and `actors` say, and what they are called, as docs/format.md tells it."""
import json
from datetime import datetime, timezone
from history_records import (Malformed, bound_of, fields_of, id_of, is_text, need, number, path_of, time_of)
from sealed_memory import D, H, b64u, keyed_hash, name_id, unb64u, u64, lp

LONGEST_NAME, MOST_MARKS, MOST_NOTES, MOST_TOUCHES = 1024, 20_000, 60_000, 2_000

def compact(x):
    """As `JSON.stringify` writes it."""
    return json.dumps(x, ensure_ascii=False, separators=(",", ":"))

# Ids
def transcript_id(NK, key):
    """What the ids of all pages of a transcript begin with."""
    def part(length, *names): return keyed_hash(NK, "sessions", compact(names))[:length]
    project, session, subpath = key["projectKey"], key["sessionId"], key.get("subpath")
    beginning = part(16, project) + part(22, project, session)
    return beginning + "m" if subpath is None else beginning + "s" + part(16, project, session, subpath)

def page_id(NK, key, page): return f"{transcript_id(NK, key)}{page:08}"
def conversation_hash(NK, *of): return keyed_hash(NK, "conversations", compact(of))
def conversation_id(NK, conversation): return "h" + conversation_hash(NK, "conversation", conversation)
def body_id(NK, conversation, random): return "b" + conversation_id(NK, conversation)[1:] + b64u(random)
def prompt_id(NK, conversation, turn): return "p" + conversation_hash(NK, "prompt", conversation, turn)
def day_of(ms): return datetime.fromtimestamp(ms // 86_400_000 * 86_400, timezone.utc).strftime("%Y-%m-%d")
def access_id(NK, ms, path): return f"{day_of(ms)}_{keyed_hash(NK, 'access', path)}"
def receipt_id(NK, turn): return keyed_hash(NK, "receipts", turn)
def receipt_hash(NK, of, text): return keyed_hash(NK, "receipts", compact([of, text]))
def head_id(number): return f"c{number:012}"
def part_id(run, part): return f"p{run}_{part:06}"

# Contents
def text_of(x):
    need(isinstance(x, str))
    return x

def count_of(most=2**53 - 1, least=0):
    def read(x):
        need(least <= number(x) <= most)
        return int(x)
    return read

def list_of(read, most=None):
    def read_list(x):
        need(isinstance(x, list) and (most is None or len(x) <= most))
        return [read(entry) for entry in x]
    return read_list

def tuple_of(*reads):
    def read(x):
        need(isinstance(x, list) and len(x) == len(reads))
        return [read(entry) for read, entry in zip(reads, x)]
    return read

def object_of(needed, perhaps=None):
    """The fields that are known; a field of `perhaps` may be absent."""
    def read(x):
        need(isinstance(x, dict))
        told = {name: read(x.get(name)) for name, read in needed.items()}
        return told | {name: read(x[name]) for name, read in (perhaps or {}).items() if name in x}
    return read

def one_of(*values):
    def read(x):
        need(isinstance(x, str) and x in values)
        return x
    return read

def any_object(x): return object_of({})(x) or x
def any_value(x): return x
def bytes_of_length(length):
    def read(x):
        b = unb64u(x) if isinstance(x, str) and x.isascii() else None
        need(b is not None and len(b) == length)
        return x
    return read

def bool_of(x):
    need(isinstance(x, bool))
    return x

def name_of(x):
    need(is_text(x) and 1 <= len(x.encode("utf-16-le")) // 2 <= LONGEST_NAME)
    return x

def actor_of(x):
    need(is_text(x) and x != "")
    return x

sixteen, hash_of = bytes_of_length(16), bytes_of_length(32)

def stored_text(x):
    need(isinstance(x, dict) and ("text" in x) != ("record" in x))
    return object_of({}, {"text": text_of, "record": text_of})(x)

def content_of_object(read):
    def read_content(content): return read(fields_of(content))
    return read_content

PATHS = {"id": sixteen, "from": path_of, "to": path_of, "owner": text_of}

def register(fields):
    if fields.get("phase") == "idle":
        return {"phase": "idle"}
    return object_of({"phase": one_of("copying", "moving", "aborting"), **PATHS}, {"by": sixteen})(fields)

def receipt(fields):
    begun = {"progress": stored_text, "attempts": number}
    read = {"running": object_of({"owner": text_of, "leaseMs": number}, begun), "free": object_of({}, begun), "done": object_of({})}
    state = one_of(*read)(fields.get("state"))
    return {"state": state, "message": text_of(fields.get("message")), **read[state](fields)}

TOUCHES = {"read": {"version": text_of}, "written": {"version": text_of}, "deleted": {}, "renamed": {"to": text_of}}

def touch(x):
    kind = one_of(*TOUCHES)(x.get("kind") if isinstance(x, dict) else None)
    return object_of({"kind": text_of, "path": text_of, **TOUCHES[kind]})(x)

trace = object_of({"turn": text_of, "list": list_of(touch, MOST_TOUCHES), "unlisted": number}, {"follows": text_of})
answer = object_of(
    {"outcome": one_of("answered", "refused", "truncated", "too_large"), "text": text_of, "messages": list_of(any_value)},
    {"reason": text_of, "model": text_of, "digest": text_of, "usage": any_object, "trace": trace})
pending = object_of({"reply": object_of({"content": list_of(any_value)}), "key": text_of, "since": number})
progress = object_of({"messages": list_of(any_value), "text": text_of, "usage": any_object},
                     {"digest": text_of, "version": number, "trace": trace, "pending": pending})

def conversation_head(fields):
    need(("turn" in fields) == ("content" in fields))
    held = object_of({"turn": text_of, "owner": text_of, "leaseMs": number})
    return object_of({"version": number}, {"turn": text_of, "content": stored_text, "held": held})(fields)

conversation_body = object_of({
    "messages": list_of(any_value),
    "last": object_of({"turn": text_of, "from": number, "answer": object_of({"text": text_of})})})

def decoded(content):
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Malformed from None

def page(content):
    head, *lines = decoded(content).split("\n")
    key = object_of({"projectKey": name_of, "sessionId": name_of}, {"subpath": name_of})
    told = object_of({"key": key, "first": number}, {"summary": object_of({"by": text_of, "data": any_value})})
    told = told(fields_of(head.encode()))
    for line in lines:
        fields_of(line.encode())
    return {**told, "lines": lines}

def prompt(content):
    need(decoded(content) != "")
    return decoded(content)

def access(content):
    need(content == b"")
    return ""

def file_path_of(x):
    need(path_of(x) != "/memories")
    return x

checkpoint_head = object_of({"number": count_of(10**12 - 1, 1), "files": number, "began": time_of, "ended": time_of, "epoch": number,
                             "keepsHistory": bool_of, "run": sixteen, "parts": count_of(10**6), "secret": hash_of})
checkpoint_line = tuple_of(file_path_of, sixteen, bound_of, number, number, sixteen, sixteen, text_of, hash_of, one_of("", "young"))

def checkpoint_part(content):
    lines = decoded(content).split("\n")
    try:
        return [checkpoint_line(json.loads(line)) for line in lines]
    except (ValueError, RecursionError):
        raise Malformed from None

READERS = {
    "journal/register": content_of_object(register),
    "journal/expiry": content_of_object(object_of({"marks": list_of(tuple_of(hash_of, text_of, time_of), MOST_MARKS)})),
    "journal/swept": content_of_object(object_of({"versions": list_of(tuple_of(text_of, text_of, time_of, time_of), MOST_NOTES)})),
    "journal/history": content_of_object(object_of({"expiredBefore": time_of})),
    "access": access,
    "receipts/turn": content_of_object(receipt),
    "receipts/progress": content_of_object(progress),
    "receipts/tokens": content_of_object(object_of({"tokens": number}, {"reserved": number, "until": number})),
    "answers": content_of_object(answer),
    "sessions": page,
    "conversations/head": content_of_object(conversation_head),
    "conversations/body": content_of_object(conversation_body),
    "conversations/prompt": prompt,
    "actors": content_of_object(object_of({"actor": actor_of})),
    "checkpoints/head": content_of_object(checkpoint_head),
    "checkpoints/part": checkpoint_part,
}

def read_record(kind, content):
    """What a reader finds in the content of such a record; None for what is malformed."""
    try:
        return READERS[kind](content)
    except Malformed:
        return None

# Checkpoints
def text_hash(NK, content): return b64u(H(32, name_id(NK), D("text") + content))
def part_digest(secret, i, content): return H(32, secret, D("checkpoint-part") + u64(i) + content)

def facts_of(head):
    return compact([head[name] for name in ("number", "files", "began", "ended", "epoch", "keepsHistory")])

def line_of(head, parts):
    """What is kept outside of the store, of a head and the contents of its parts."""
    secret = unb64u(head["secret"])
    digests = b"".join(part_digest(secret, i, content) for i, content in enumerate(parts))
    return f"{head['number']}:{b64u(H(32, secret, D('checkpoint') + lp(facts_of(head).encode()) + digests))}"

def read_checkpoint(records, line):
    """Head and lines of the checkpoint of that line among the contents of records by id; None for what is none."""
    number, root = int(line.partition(":")[0]), line.partition(":")[2]
    head = read_record("checkpoints/head", records.get(head_id(number), b""))
    if head is None or head["number"] != number:
        return None
    parts = [records.get(part_id(head["run"], i)) for i in range(head["parts"])]
    lines = [read_record("checkpoints/part", part) if part is not None else None for part in parts]
    if None in lines or line_of(head, parts).partition(":")[2] != root or sum(map(len, lines)) != head["files"]:
        return None
    return {"head": head, "lines": [entry for part in lines for entry in part]}
