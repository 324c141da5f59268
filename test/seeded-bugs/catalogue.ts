import { FILE_BUGS } from './file-bugs.ts';
import { HISTORY_BUGS } from './history-bugs.ts';
import { KEPT_BUGS } from './kept-bugs.ts';
import { KEY_BUGS } from './key-bugs.ts';
import { RACED_BUGS } from './raced-bugs.ts';
import type { SeededBug } from './seeded-bug.ts';
import { TREE_BUGS } from './tree-bugs.ts';
import { TURN_BUGS } from './turn-bugs.ts';
import { UPKEEP_BUGS } from './upkeep-bugs.ts';

/** Mistakes that no tool makes: two steps swapped, a look dropped, a bound counted from the wrong moment, an id reused. */
export const SEEDED_BUGS: readonly SeededBug[] = [
  ...TREE_BUGS,
  ...TURN_BUGS,
  ...KEY_BUGS,
  ...UPKEEP_BUGS,
  ...KEPT_BUGS,
  ...FILE_BUGS,
  ...HISTORY_BUGS,
  ...RACED_BUGS,
];
