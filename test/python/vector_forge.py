"""What the vectors are made of, and forging: objects and keyrings as an attacker could write them who holds every key."""
import json
from pathlib import Path
from sealed_memory import D, H, b64u, kdf, lp, seal_box, u32, u64

FOLDER = Path(__file__).parent.parent / "vectors"

def fixed(name): return json.loads((FOLDER / name).read_text(encoding="utf-8"))

old, old_added = fixed("format-1.json"), fixed("format-1-additions.json")

def value(name): return bytes.fromhex(str(old["inputs"].get(name, name)))
def expand(text):
    character, star, count = text[:1], text[1:2], text[2:]
    return character * int(count) if star == "*" and count.isdigit() else text

NK = value("NK")
NAMES = ({"NK": NK, "mode": 0}, {"NK": NK, "mode": 1})

def described(text): return bytes(int(text[6:])) if text.startswith("zeros:") else text.removeprefix("text:").encode()
def content_of(f): return bytes(f["zeros"]) if "zeros" in f else f["text"].encode()

def payload_of(f, length):
    payload = value(f["dek"]) + (b"" if f.get("shortWrap") else u32(int(f["drawnUnder"]))) + u64(int(f.get("length", length))) + u64(int(f["mtime"]))
    return payload + u64(int(f["bound"])) + value(f["previous"]) + value(f["writer"]) + value(f["origin"])

def forge_object(f, ring):
    keyring_id = value(f.get("keyringId", ring["keyringId"]))
    body_id = value(f.get("bodyKeyringId", f.get("keyringId", ring["keyringId"])))
    content = content_of(f)
    fixed_start = bytes.fromhex(f.get("magic", "89534d310d0a1a0a") + f.get("version", "01011000"))
    start = fixed_start + value(f["versionId"])
    def O(key): return H(64, value(key), D("body") + body_id + (start if f.get("bodyVersionId") else fixed_start))
    committed = O(f.get("bodyDek", f["dek"]))
    head = start + (value(f["commitment"]) if "commitment" in f else committed[32:]) + H(16, value(f["key"]), D("key-id"))
    payload = payload_of(f, len(content))
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

def entries(f):
    if "count" not in f:
        return f["keys"]
    return [(v, 1_700_000_000_000, (bytes(30) + v.to_bytes(2, "big")).hex()) for v in range(1, f["count"] + 1)]

def secret_of(f):
    keys = entries(f)
    secret = bytes([f["mode"], f.get("flags", 0)]) + f.get("n", len(keys)).to_bytes(2, "big") + value(f["NK"])
    secret += b"".join(u32(v) + u64(int(created)) + value(key) for v, created, key in keys)
    return secret + bytes.fromhex(f.get("extra", ""))

def forge_keyring(f):
    root, root_nonce, keyring_id = value(f["root"]), value(f["rootNonce"]), value(f["keyringId"])
    root_id = expand(f["rootId"]) if "rootId" in f else "env:" + b64u(H(16, root, D("root-id")))
    pairs = {"app": "sealed-memory", "keyring": b64u(value(f.get("wrapKeyringId", f["keyringId"]))), "kind": "keyring",
             "tenant": f.get("wrapTenant", f["tenant"]), "version": "1"}
    canon = u32(5) + b"".join(lp(k.encode()) + lp(v.encode()) for k, v in pairs.items())
    wrapped = bytes.fromhex(expand(f["wrapped"])) if "wrapped" in f else root_nonce + seal_box(
        kdf(root, 1, b"smem-rk1"), root_nonce, D("root") + canon, value(f.get("wrappedKK", f["KK"])))
    head = bytes.fromhex("89534d4b0d0a1a0a" + f.get("version", "01010000")) + u32(f["epoch"]) + keyring_id
    head += lp(root_id.encode()) + lp(wrapped)
    secret = secret_of(f)
    aad = D("keyring") + head + lp(f.get("aadTenant", f["tenant"]).encode())
    return head + value(f["nonce"]) + seal_box(value(f["KK"]), value(f["nonce"]), aad, secret)

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

def change(b, ops, bytes_of):
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
