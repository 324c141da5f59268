import type { HistoryFinding } from '../../admin/findings.ts';
import { FAIL, ON_PURPOSE, type Told } from './told.ts';

const BY_WHOM = ": an attacker who writes below the tenant's prefix can do that";

/** Says what is wrong with the history by itself, and what to do about it. */
export function tellHistory({ state, path, expected, found, replacedBy, name }: HistoryFinding): Told {
  const version = `version v${expected}${path === undefined ? '' : ` of ${path}`}`;
  const toDo = 'restore its object from a backup, or from the versions of the bucket';
  switch (state) {
    case 'missing':
      return {
        ...FAIL,
        found: `${version}, which version v${replacedBy} replaced, is not in the history${BY_WHOM}`,
        toDo: `${toDo}; ${ON_PURPOSE}`,
      };
    case 'damaged':
      return {
        ...FAIL,
        found: `${name}, the record of ${version}, is damaged${BY_WHOM}`,
        toDo,
      };
    case 'misplaced':
      return {
        ...FAIL,
        found: `${name}, where the record of ${version} belongs, holds that of version v${found}${BY_WHOM}`,
        toDo,
      };
    case 'unredacted':
      return {
        ...FAIL,
        found: `${version} was redacted, and its text lies in ${name}`,
        toDo: 'redact it again',
      };
    case 'doubled':
      return {
        ...FAIL,
        found: `${version} is two different versions: only who holds the keys can make that`,
        toDo: `no text of it is given out; ${toDo}`,
      };
  }
}
