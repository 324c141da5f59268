"""Breaks each rule of rules.py once in the Python implementation, and shows that the vectors notice it.

Prints what they did not notice; fails where that is anything. `--list` prints all rules, also those that no vector can show;
`--some COUNT SEED` breaks only that many, drawn by the seed, and finds those that no longer fit all the same.
"""
import os, random, sys, types
from pathlib import Path
from rules import SILENT, rules

HERE = Path(__file__).parent
MODULES = ("sealed_memory", "history_records", "records")
NOTICED, UNNOTICED, NO_CHANGE = 0, 1, 2

def source_of(module):
    return (HERE / f"{module}.py").read_text(encoding="utf-8")

def load(module, source):
    made = types.ModuleType(module)
    sys.modules[module] = made
    exec(compile(source, f"{module}.py", "exec"), made.__dict__)

def check(module, obeying, breaking):
    """Runs the check of all vectors in this process with the module changed."""
    for name in MODULES:
        source = source_of(name)
        if name == module:
            source = source.replace(obeying, breaking)
        load(name, source)
    sys.argv = ["make_vectors.py", "--check"]
    try:
        import make_vectors
    except (NameError, SyntaxError, ImportError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return NO_CHANGE
    except (Exception, SystemExit):
        return NOTICED
    return UNNOTICED

def in_child(rule):
    """The outcome in a process of its own."""
    child = os.fork()
    if child == 0:
        outcome = NO_CHANGE
        try:
            outcome = check(*rule[2:])
        finally:
            os._exit(outcome)
    return child

def run(some):
    """The outcome of each, a few at a time."""
    waiting, running, outcomes = list(some), {}, []
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            rule = waiting.pop(0)
            running[in_child(rule)] = rule
        child, status = os.wait()
        outcomes.append((running.pop(child), os.waitstatus_to_exitcode(status)))
    return outcomes

def main(*arguments):
    if "--list" in arguments:
        for section, sentence, *_ in rules():
            print(f"{section}: {sentence}")
        for section, sentence, reason in SILENT:
            print(f"{section}: {sentence} (no vector: {reason})")
        return
    import nacl.bindings  # Once for all children.
    if check("sealed_memory", "class Refused(Exception):", "class Refused(Exception): # unchanged") != UNNOTICED:
        raise SystemExit("the vectors are not what the unchanged implementation says")
    for name in ("make_vectors", "vector_additions", "vector_cases", "vector_check", "vector_entries", "vector_forge",
                 "vector_history", "vector_records"):
        sys.modules.pop(name, None)
    told = {UNNOTICED: "not noticed", NO_CHANGE: "cannot be broken so"}
    chosen = list(rules())
    if "--some" in arguments:
        count, seed = arguments[arguments.index("--some") + 1:][:2]
        chosen = random.Random(seed).sample(chosen, min(int(count), len(chosen)))
    sources = {name: source_of(name) for name in MODULES}
    unfit = [rule for rule in rules() if sources[rule[2]].count(rule[3]) != 1]
    outcomes = [(rule, NO_CHANGE) for rule in unfit] + run([rule for rule in chosen if rule not in unfit])
    wrong = [f"{told.get(outcome, 'ended badly')}: {rule[0]}: {rule[1]}" for rule, outcome in outcomes if outcome != NOTICED]
    if wrong:
        raise SystemExit("\n".join(sorted(wrong)))
    print(f"{len(outcomes)} rules, each broken once and noticed; {len(SILENT)} that no vector can show")

main(*sys.argv[1:])
