"""Format 1 a second time, laid out as docs/format.md tells it: a witness for the tests, not for production use."""
import base64, hmac, os, re, struct, unicodedata
from hashlib import blake2b
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt as aead_open
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_encrypt as aead_seal
from nacl.exceptions import CryptoError

CHUNK, HEADER, ZEROS, SUFFIX = 65536, 224, bytes(16), ".sealed"
OBJECT_START = bytes.fromhex("89534d310d0a1a0a01011000")
KEYRING_MAGIC, TOMBSTONE_MAGIC = bytes.fromhex("89534d4b0d0a1a0a"), bytes.fromhex("89534d540d0a1a0a")
CLASSES = ("journal", "access", "receipts", "answers", "history", "actors", "checkpoints", "conversations", "sessions")
HISTORY, SINCE = 1, 2

draw = os.urandom

class Refused(Exception):
    """Carries the code of the refusal."""

def demand(condition, code="integrity"):
    if not condition:
        raise Refused(code)

# Notation
def u32(n): return struct.pack(">I", n)
def u64(n): return struct.pack(">Q", n)
def lp(x): return u32(len(x)) + x
def D(s): return b"sealed-memory/1/" + s.encode() + b"\0"
def H(n, k, m): return blake2b(m, digest_size=n, key=k).digest()
def kdf(k, i, c): return blake2b(digest_size=32, key=k, salt=struct.pack("<Q", i) + bytes(8), person=c + bytes(8)).digest()
def b64u(x): return base64.urlsafe_b64encode(x).decode().rstrip("=")

def unb64u(text):
    try:
        x = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    return x if b64u(x) == text else None

def seal_box(k, nonce, a, m): return aead_seal(m, a, nonce, k)

def open_box(k, nonce, a, box):
    try:
        demand(len(box) >= 16)
        return aead_open(box, a, nonce, k)
    except CryptoError:
        raise Refused("integrity") from None

# Root keys and the keyring
def parse_root(text):
    try:
        R = base64.b64decode(text, validate=True)
    except ValueError:
        raise Refused("misconfigured") from None
    demand(len(R) == 32 and base64.b64encode(R).decode() == text, "misconfigured")
    return R

def root_id(R): return b"env:" + b64u(H(16, R, D("root-id"))).encode()

def kms_root_id(arn):
    """What stands in a keyring for a key of KMS."""
    key = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32}"
    demand(re.fullmatch(f"arn:aws[a-z-]*:kms:[a-z0-9-]{{1,63}}:[0-9]{{12}}:key/({key})", arn), "misconfigured")
    return "aws-kms:" + arn

def root_binding(keyring_id, tenant):
    pairs = [("app", "sealed-memory"), ("keyring", b64u(keyring_id)), ("kind", "keyring"), ("tenant", tenant), ("version", "1")]
    return D("root") + u32(5) + b"".join(lp(text.encode()) for pair in pairs for text in pair)

def seal_keyring(ring, R, tenant):
    KK, outer, inner = draw(32), draw(24), draw(24)
    wrapped = outer + seal_box(kdf(R, 1, b"smem-rk1"), outer, root_binding(ring["id"], tenant), KK)
    head = KEYRING_MAGIC + bytes([1, 1, 0, 0]) + u32(ring["epoch"]) + ring["id"] + lp(root_id(R)) + lp(wrapped)
    secret = bytes([ring["mode"], ring["flags"]]) + struct.pack(">H", len(ring["keys"])) + ring["NK"]
    secret += b"".join(u32(version) + u64(created) + TK for version, created, TK in ring["keys"])
    if ring["flags"] & SINCE:
        secret += u64(ring["since"])
    return head + inner + seal_box(KK, inner, D("keyring") + head + lp(tenant.encode()), secret)

def take_lp(b, at, longest):
    demand(at + 4 <= len(b))
    length = struct.unpack_from(">I", b, at)[0]
    demand(1 <= length <= longest and at + 4 + length <= len(b))
    return b[at + 4:at + 4 + length]

def open_keyring(b, roots, tenant):
    demand(12 <= len(b) <= 16384 and b[:8] == KEYRING_MAGIC)
    demand(b[8:] != bytes(4), "key_unavailable")
    demand(b[8:12] == bytes([1, 1, 0, 0]), "unsupported_format")
    root = take_lp(b, 32, 512)
    wrapped = take_lp(b, 36 + len(root), 8192)
    epoch, h = struct.unpack_from(">I", b, 12)[0], 40 + len(root) + len(wrapped)
    demand(epoch >= 1 and all(0x21 <= byte <= 0x7E for byte in root) and len(b) - h >= 120)
    R = next((R for R in roots if root_id(R) == root), None)
    demand(R is not None, "key_unavailable")
    demand(len(wrapped) == 72)  # So KK has 32 bytes.
    KK = open_box(kdf(R, 1, b"smem-rk1"), wrapped[:24], root_binding(b[16:32], tenant), wrapped[24:])
    secret = open_box(KK, b[h:h + 24], D("keyring") + b[:h] + lp(tenant.encode()), b[h + 24:])
    demand(len(secret) >= 80)
    mode, flags, n = struct.unpack_from(">BBH", secret)
    demand(mode <= 1 and flags in (0, HISTORY, HISTORY | SINCE) and 1 <= n <= 64)
    end = 36 + 44 * n
    demand(len(secret) == end + (8 if flags & SINCE else 0))
    since = struct.unpack_from(">Q", secret, end)[0] if flags & SINCE else None
    demand(since is None or since < 2**53)
    keys = [struct.unpack_from(">IQ32s", secret, 36 + 44 * i) for i in range(n)]
    demand(all(later[0] > earlier[0] for earlier, later in zip([(0,)] + keys, keys)))
    demand(all(created < 2**53 for _, created, _ in keys) and len({key_id(TK) for _, _, TK in keys}) == n)
    return {"epoch": epoch, "id": b[16:32], "mode": mode, "flags": flags, "since": since, "NK": secret[4:36], "keys": keys}

def read_in_turn(objects, roots, tenant, least=1):
    """What one process answers that meets these objects in the keyring's place, one after the other."""
    newest, shredded, answers = None, False, []
    for b in objects:
        try:
            ring = open_keyring(b, roots, tenant)
            demand(not shredded and ring["epoch"] >= least)
            if newest:
                before, bytes_before = newest
                demand(ring["id"] == before["id"] and ring["epoch"] >= before["epoch"])
                demand(ring["epoch"] != before["epoch"] or b == bytes_before)
            newest = ring, b
            answers.append("ok")
        except Refused as refused:
            shredded = shredded or b == KEYRING_MAGIC + bytes(4)
            answers.append(str(refused))
    return answers

# Names
def valid_segment(s):
    if s in ("", ".", "..") or len(s.encode("utf-8", "surrogatepass")) > 143 or re.search(r"[/\\\u2028\u2029]", s):
        return False
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in "\u200c\u200d" for c in s):
        return False
    while True:
        if re.search("%(2e|2f|5c|00)", s, re.IGNORECASE | re.ASCII):
            return False
        s, before = re.sub("%([0-7][0-9a-fA-F])", lambda m: chr(int(m[1], 16)), s), s
        if s == before:
            return True

def child_tweak(NK, t, s): return H(16, kdf(NK, 1, b"smem-nk1"), b"dir" + t + s.encode())

def stream(NK, siv, length):
    return b"".join(H(64, kdf(NK, 2, b"smem-nk1"), siv + u32(i)) for i in range(-(-length // 64)))[:length]

def xor(a, b): return bytes(x ^ y for x, y in zip(a, b))
def pad(s): return s + b"\x80" + bytes(-(len(s) + 1) % 16)
def siv_of(NK, t, p): return H(16, kdf(NK, 1, b"smem-nk1"), b"seg" + t + p)

def encode_segments(ring, segments):
    """The segments as they stand in a key, without the suffix of a file."""
    t, texts = ZEROS, []
    for s in segments:
        p = pad(s.encode())
        siv = siv_of(ring["NK"], t, p)
        texts.append(b64u(siv + xor(p, stream(ring["NK"], siv, len(p)))) if ring["mode"] else s)
        t = child_tweak(ring["NK"], t, s)
    return "/".join(texts)

def valid_directory(ring, s): return valid_segment(s) and (ring["mode"] == 1 or not s.endswith(SUFFIX))
def top_of(prefix): return prefix and prefix + "/"

def encode_file(ring, segments):
    """What stands behind `data/` in the key of the file with these segments."""
    demand(segments and valid_segment(segments[-1]), "invalid_path")
    demand(all(valid_directory(ring, s) for s in segments[:-1]), "invalid_path")
    return encode_segments(ring, segments) + SUFFIX

def check_place(prefix, tenant):
    demand(re.fullmatch("[a-z0-9][a-z0-9-]{0,62}", tenant), "misconfigured")
    demand(prefix == "" or all(valid_segment(s) for s in prefix.split("/")), "misconfigured")
    demand(len(f"{prefix}{tenant}".encode()) <= 66, "misconfigured")

def file_key(ring, tenant, path, prefix=""):
    check_place(prefix, tenant)
    key = f"{top_of(prefix)}tenants/{tenant}/data/" + encode_file(ring, path.split("/")[2:])
    demand(len(key.encode()) <= 1024, "invalid_path")
    return key

def decode_file(ring, text, base=()):
    """The segments of the file whose key below the directory `base` is `text`; None when it is foreign."""
    return decode_segments(ring, text.removesuffix(SUFFIX), base) if text.endswith(SUFFIX) else None

def decode_segments(ring, text, base=()):
    t, segments = ZEROS, []
    for s in base:
        t = child_tweak(ring["NK"], t, s)
    parts = text.split("/")
    for i, part in enumerate(parts):
        s = decode_segment(ring["NK"], t, part) if ring["mode"] else part
        if s is None or not (valid_directory(ring, s) if i < len(parts) - 1 else valid_segment(s)):
            return None
        segments.append(s)
        t = child_tweak(ring["NK"], t, s)
    return segments

def decode_segment(NK, t, text):
    b = unb64u(text)
    if b is None or not 32 <= len(b) <= 160 or len(b) % 16:
        return None
    p = xor(b[16:], stream(NK, b[:16], len(b) - 16))
    s = p.rstrip(b"\0")[:-1]
    if siv_of(NK, t, p) != b[:16] or pad(s) != p:
        return None
    try:
        return s.decode()
    except UnicodeDecodeError:
        return None

def name_id(NK): return kdf(NK, 3, b"smem-nk1")
def keyed_hash(NK, c, x): return b64u(H(32, name_id(NK), D(c) + x.encode()))
def writer_of(NK, actor): return H(16, name_id(NK), D("writer") + actor.encode()) if actor is not None else ZEROS

# Objects
def key_id(TK): return H(16, TK, D("key-id"))
def chunk_count(length): return max(1, -(-length // CHUNK))
def sealed_size(length): return HEADER + length + 16 * chunk_count(length)
def chunk_nonce(i, n): return bytes(15) + u64(i) + bytes([i == n - 1])
def wrap_binding(head, ring, tenant, name): return D("wrap") + head + ring["id"] + lp(tenant.encode()) + lp(name.encode())

def content_length(size):
    """The length of the content in an object of this size; None when no object has it."""
    body = size - HEADER
    length = body - 16 * -(-body // (CHUNK + 16))
    return length if body >= 16 and length >= 0 and sealed_size(length) == size else None

def next_bound(clock, replaced=None):
    return min(2**63 - 1, clock << 16 if replaced is None else max(clock << 16, replaced + 1))

def seal_wrap(ring, tenant, name, start, w):
    TK, nonce = ring["keys"][-1][2], draw(24)
    head = start + key_id(TK)
    payload = w["key"] + u32(w["drawnUnder"]) + u64(w["length"]) + u64(w["mtime"]) + u64(w["bound"]) + w["previous"] + w["writer"] + w["origin"]
    return head + nonce + seal_box(kdf(TK, 1, b"smem-tk1"), nonce, wrap_binding(head, ring, tenant, name), payload)

def open_wrap(ring, tenant, name, b):
    demand(len(b) >= HEADER + 16 and b[:12] == OBJECT_START)
    version, TK = next(((version, TK) for version, _, TK in ring["keys"] if key_id(TK) == b[60:76]), (None, None))
    demand(TK is not None)
    w = open_box(kdf(TK, 1, b"smem-tk1"), b[76:100], wrap_binding(b[:76], ring, tenant, name), b[100:HEADER])
    names = ("key", "drawnUnder", "length", "mtime", "bound", "previous", "writer", "origin")
    w = dict(zip(names, struct.unpack(">32sIQQQ16s16s16s", w)))
    demand(w["drawnUnder"] >= 1 and w["length"] < 2**30 and w["mtime"] < 2**53 and w["bound"] < 2**63)
    return {**w, "drawnUnder": min(w["drawnUnder"], version)}

def body_keys(ring, data_key, start):
    """The key of the chunks, and the commitment."""
    O = H(64, data_key, D("body") + ring["id"] + start)
    return O[:32], O[32:]

def new_version(mtime, previous=ZEROS, writer=ZEROS):
    """What stays with a text for as long as it exists, however often it is sealed."""
    return {"versionId": draw(16), "mtime": mtime, "previous": previous, "writer": writer}

def seal(ring, tenant, name, version, content, bound=None, origin=ZEROS):
    data_key = draw(32)
    chunk_key, commitment = body_keys(ring, data_key, OBJECT_START)
    header = seal_wrap(ring, tenant, name, OBJECT_START + version["versionId"] + commitment, {
        **version, "key": data_key, "drawnUnder": ring["keys"][-1][0], "length": len(content),
        "bound": version["mtime"] << 16 if bound is None else bound, "origin": origin})
    n = chunk_count(len(content))
    chunks = (seal_box(chunk_key, chunk_nonce(i, n), b"", content[i * CHUNK:(i + 1) * CHUNK]) for i in range(n))
    return header + b"".join(chunks)

def open_object(ring, tenant, name, b):
    w = open_wrap(ring, tenant, name, b)
    demand(len(b) == sealed_size(w["length"]))
    chunk_key, commitment = body_keys(ring, w.pop("key"), b[:12])
    demand(hmac.compare_digest(commitment, b[28:60]))
    n, step = chunk_count(w.pop("length")), CHUNK + 16
    chunks = (open_box(chunk_key, chunk_nonce(i, n), b"", b[HEADER + i * step:HEADER + (i + 1) * step]) for i in range(n))
    return {"content": b"".join(chunks), "versionId": b[12:28], **w}

def is_tombstone(b): return len(b) == 40 and b[:8] == TOMBSTONE_MAGIC

def read_object(ring, tenant, name, b, makes_tombstones=True):
    """What lies at an object key; None where it is absent. `makes_tombstones`: the writers of the store make them."""
    return None if makes_tombstones and is_tombstone(b) else open_object(ring, tenant, name, b)

def rebind(ring, tenant, b, old, new, bound, origin=None):
    """The object under another name or key: a new wrap around the same data key; without `origin` it keeps its own."""
    open_object(ring, tenant, old, b)
    w = open_wrap(ring, tenant, old, b)
    w = {**w, "bound": bound, "origin": w["origin"] if origin is None else origin}
    return seal_wrap(ring, tenant, new, b[:60], w) + b[HEADER:]

# A tenant's store, as a mapping of object keys to bytes
def judge(ring, rest, size):
    """The verdict on an entry of a listing behind the tenant's prefix, and the logical name where it has one."""
    kind, _, behind = rest.partition("/")
    if re.match(r"probe(-|\Z)", rest):
        return "scratch", None
    if size == 40:
        return "tombstone", None
    whole = content_length(size) is not None
    segments = decode_file(ring, behind) if kind == "data" else None
    if segments is not None:
        return "file" if whole else "damaged", "/memories/" + "/".join(segments)
    if kind in CLASSES and re.fullmatch("[A-Za-z0-9_-]{1,64}", behind):
        return "record" if whole else "damaged", "/" + rest
    return "foreign", None

def read_store(objects, R, tenant, prefix=""):
    top = top_of(prefix)
    ring, below = open_keyring(objects[f"{top}keyrings/{tenant}"], [R], tenant), f"{top}tenants/{tenant}/"
    files, records, foreign = {}, {}, []
    for key, b in objects.items():
        if not key.startswith(below):
            continue
        verdict, name = judge(ring, key.removeprefix(below), len(b))
        if verdict == "foreign":
            foreign.append(key)
        elif name is not None:
            (files if name.startswith("/memories/") else records)[name] = open_object(ring, tenant, name, b)
    return {"keyring": ring, "files": files, "records": records, "foreign": foreign}

def write_store(files, R, tenant, mode, created, prefix="", flags=0, since=None):
    first = [(1, created, draw(32))]
    ring = {"epoch": 1, "id": draw(16), "mode": mode, "flags": flags, "since": since, "NK": draw(32), "keys": first}
    objects = {f"{top_of(prefix)}keyrings/{tenant}": seal_keyring(ring, R, tenant)}
    for path, content in files.items():
        objects[file_key(ring, tenant, path, prefix)] = seal(ring, tenant, path, new_version(created), content)
    return objects
