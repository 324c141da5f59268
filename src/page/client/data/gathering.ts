import type { StoredFile, TreeChange } from '../../protocol.ts';

/**
 * Joins the pages of a look at everything. At the first look it passes pages on once they have as many files as were
 * passed on before, so that the tree is drawn only a few times; at later looks it passes all on at the end, so that a
 * tree that is shown never shrinks meanwhile.
 *
 * @param first what was passed on already.
 */
export function gathering(
  pass: (change: TreeChange) => void,
  first: TreeChange | undefined,
): (change: TreeChange) => void {
  let passed = first?.changed.length ?? 0;
  let isComplete = first?.isPartial === false;
  let whole = false;
  /** The files by their paths; undefined for one that is gone. */
  let waiting = new Map<string, StoredFile | undefined>();
  return (change) => {
    if (change.whole) [passed, whole, waiting] = [0, true, new Map()];
    for (const path of change.removed) waiting.set(path, undefined);
    for (const file of change.changed) waiting.set(file.path, file);
    if (change.isPartial && (isComplete || waiting.size < passed)) return;
    isComplete ||= !change.isPartial;
    passed += waiting.size;
    const changed = [...waiting.values()].filter((file) => file !== undefined);
    const removed = [...waiting].flatMap(([path, file]) => (file === undefined ? path : []));
    const joined = { ...change, whole, changed, removed };
    [whole, waiting] = [false, new Map()];
    pass(joined);
  };
}
