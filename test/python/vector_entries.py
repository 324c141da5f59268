"""Cases of test/vectors/format-1-additions.json that concern entries of listings, bounds, root ids and keyrings in turn."""
import sealed_memory as f1
from vector_cases import BOUND, bytes_of
from vector_forge import NAMES, value

TOP = "p/q/tenants/acme/"
TEXT = "eWjUSk4gDf-TeCxkcJ-J6yhUySN-mtjGN6PlflM1ED0/Aw0LGUcCTPKxpA2SDH-rL96RW9RW2gx8f0Bimhh5OnA"  # notes/a.txt
FILE, RECORD = "data/notes/a.txt.sealed", "receipts/turn_01-A"
ENTRIES = [
    (0, "probe", 5), (0, "probe", 40), (1, "probe-", 0), (1, "probe-1a/below", 245), (0, "probes", 245), (0, "probe/a", 245),
    (0, FILE, 40), (1, f"data/{TEXT}.sealed", 40), (0, "data/notes/a.txt", 40), (0, RECORD, 40), (0, "probes", 40), (1, "", 40),
    *((0, FILE, size) for size in (0, 39, 41, 239, 240, 245, 65776, 65777, 65792, 65793, 1074004191, 1074004192)),
    (1, f"data/{TEXT}.sealed", 239), (1, f"data/{TEXT}.sealed", 245), (1, f"data/{TEXT}", 245), (1, FILE, 245), (1, FILE, 0),
    (0, "data/notes/a.txt", 245), (0, "data/notes.sealed/a.txt.sealed", 245), (0, "files/a.sealed", 245), (0, "receipts/a.sealed", 245), (0, "data/", 0), (0, "data", 245), (0, "", 0),
    (0, "data/cafe\u0301.sealed", 245), (0, "data/" + "a/" * 20 + "a.sealed", 245), (0, "data/" + "x" * 143 + ("/" + "x" * 143) * 7 + ".sealed", 245),
    (0, RECORD, 245), (1, "history/A-z_9", 240), (0, RECORD, 239), (1, "journal/register", 0), (0, f"{RECORD}/", 245),
    (0, "receipts/a.b", 245), (0, "histories/a", 245), (0, "receipts", 245), (1, "Data/a.sealed", 245),
]
CLOCKS = [
    (1_700_000_000_000, None), (0, None), (1_700_000_000_001, BOUND + 1), (5, (5 << 16) - 1), (5, 5 << 16), (5, 9 << 16), (0, 0),
    (0, 2**63 - 2), (0, 2**63 - 1), (2**47 - 1, None), (2**47, None), (2**53 - 1, None), (2**47 - 1, 2**63 - 1),
]
ID = "1234abcd-12ab-34cd-56ef-1234567890ab"
MULTI = "mrk-" + "0a" * 16
KEY = "arn:aws:kms:eu-central-1:111122223333:key/"
ARNS = [KEY + ID, KEY + MULTI, f"arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/{ID}", f"arn:aws-:kms:{'x' * 63}:000000000000:key/{ID}"]
NO_ARNS = [
    "", ID, KEY, KEY + ID[:-1], KEY + ID + "0", KEY + ID.upper(), KEY + ID.replace("-", ""), KEY + ID.replace("d-1", "-d1", 1),
    KEY + MULTI[:-1], KEY + MULTI + "0", KEY + MULTI.upper(), f" {KEY}{ID}", f"{KEY}{ID} ", f"{KEY}{ID}\n", f"aws-kms:{KEY}{ID}",
    "alias/memory", "arn:aws:kms:eu-central-1:111122223333:alias/memory", f"arn:aws:kms::111122223333:key/{ID}",
    f"arn:aws:kms:{'x' * 64}:111122223333:key/{ID}", f"arn:aws:kms:eu_central-1:111122223333:key/{ID}",
    f"arn:aws:kms:eu-central-1:11112222333:key/{ID}", f"arn:aws:kms:eu-central-1:\u0661{'1' * 11}:key/{ID}",
    f"arn:aws1:kms:eu-central-1:111122223333:key/{ID}", f"arn:aws:s3:eu-central-1:111122223333:key/{ID}",
]
TURNS = [
    (1, ["two", "replaced", "two"]), (1, ["two", "again", "two"]), (1, ["one", "two", "one", "two"]), (1, ["two", "globex", "two"]),
    (1, ["retired", "two", "history-on", "retired"]), (1, ["tombstone", "two", "tombstone"]), (1, ["two", "tombstone", "two"]),
    (1, ["replaced", "two", "replaced"]), (2, ["one", "two", "one"]), (3, ["two", "replaced"]), (10, ["replaced"]), (9, ["replaced"]),
]

def listings():
    def case(mode, rest, size):
        verdict, name = f1.judge(NAMES[mode], rest, size)
        return {"mode": mode, "key": TOP + rest, "size": size, "verdict": verdict, **({"name": name} if name else {})}
    return [case(*entry) for entry in ENTRIES]

def bounds():
    def case(clock, replaced):
        return {"clock": clock, **({} if replaced is None else {"replaced": str(replaced)}), "bound": str(f1.next_bound(clock, replaced))}
    return [case(*c) for c in CLOCKS]

def root_ids():
    return {"accept": [{"arn": arn, "rootId": f1.kms_root_id(arn)} for arn in ARNS], "refuse": NO_ARNS}

def readings():
    root = value("root")
    return [{"leastEpoch": least, "keyrings": ids, "answers": f1.read_in_turn([bytes_of[id] for id in ids], [root], "acme", least)}
            for least, ids in TURNS]
