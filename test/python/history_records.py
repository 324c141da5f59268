"""What records of the classes `history` and `actors` say, read as docs/format.md tells it."""
import json, re, struct
from sealed_memory import b64u, unb64u, keyed_hash, valid_segment

LARGEST, LAST_TIME, LARGEST_BOUND = 2**53 - 1, 8_640_000_000_000_000, 2**63 - 1
ALPHABET = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

class Malformed(Exception):
    pass

def need(condition):
    if not condition:
        raise Malformed

def not_json(_):
    raise Malformed

def fields_of(b):
    try:
        fields = json.loads(b.decode(), parse_constant=not_json)
    except (ValueError, RecursionError):
        raise Malformed from None
    need(isinstance(fields, dict))
    return fields

def is_text(x):
    """A text that is well-formed: without a surrogate that stands alone."""
    return isinstance(x, str) and not any("\ud800" <= c <= "\udfff" for c in x)

def number(x):
    need(type(x) in (int, float) and 0 <= x <= LARGEST and x == int(x))
    return int(x)

def time_of(x):
    need(number(x) <= LAST_TIME)
    return int(x)

def id_of(x):
    b = unb64u(x) if isinstance(x, str) and x.isascii() else None
    need(b is not None and len(b) == 16)
    return b

def bound_of(x):
    need(isinstance(x, str) and re.fullmatch("0|[1-9][0-9]{0,18}", x) and int(x) <= LARGEST_BOUND)
    return x

def path_of(x):
    need(isinstance(x, str) and (x == "/memories" or x.startswith("/memories/") and all(map(valid_segment, x.split("/")[2:]))))
    return x

def files_of(x):
    need(isinstance(x, list) and all(isinstance(entry, list) and len(entry) == 3 for entry in x))
    return [[path_of(path), id_of(version_id).hex(), bound_of(bound)] for path, version_id, bound in x]

def is_at_or_below(path, directory): return path == directory or path.startswith(directory + "/")

VERSION = {"path": path_of, "id": lambda x: id_of(x).hex(), "mtime": number, "bound": bound_of,
           "previous": lambda x: id_of(x).hex(), "writer": lambda x: id_of(x).hex(), "size": number}
FIELDS = {"replaced": VERSION, "redacted": VERSION, "deleted": {"files": files_of},
          "moved": {"from": path_of, "to": path_of, "files": files_of}}

def read_history(content):
    """The record with its ids and its text in hexadecimal, or None for what is none."""
    try:
        need(len(content) >= 4)
        end = 4 + struct.unpack_from(">I", content)[0]
        need(end <= len(content))
        fields, text = fields_of(content[4:end]), content[end:]
        kind = fields.get("kind")
        need(isinstance(kind, str) and kind in FIELDS)
        told = {"kind": kind, "at": time_of(fields.get("at")), "by": id_of(fields.get("by")).hex()}
        told |= {name: read(fields.get(name)) for name, read in FIELDS[kind].items()}
        if kind == "replaced" and "for" in fields:
            need(fields["for"] == "delete")
            told["for"] = "delete"
        if kind == "moved":
            need(all(is_at_or_below(path, told["from"]) for path, _, _ in told["files"]))
        need(len(text) == (told["size"] if kind == "replaced" else 0))
        return {**told, "text": text.hex()} if kind == "replaced" else told
    except Malformed:
        return None

def read_actor(content):
    """The actor, or None for what is no such record."""
    try:
        actor = fields_of(content).get("actor")
    except Malformed:
        return None
    return actor if is_text(actor) and actor else None

def history_id(NK, path, bound, beginning):
    """The id of a record; of a version, `beginning` is its id."""
    digits = "".join(ALPHABET[int(bound) >> 6 * place & 63] for place in reversed(range(11)))
    return f"{keyed_hash(NK, 'history', path)}_{digits}_{b64u(beginning)[:8]}"
