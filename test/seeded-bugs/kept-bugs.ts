import { inSuite, type SeededBug } from './seeded-bug.ts';

/** Bugs of the history, planted in the code. */
export const KEPT_BUGS: readonly SeededBug[] = [
  {
    name: 'a moment that has what was written at it',
    breaks: 'history: To take back',
    seenBy: inSuite(
      'test/units/history/restore-at.test.ts',
      'lack what was written at that very moment, and have what was deleted then',
    ),
    planted: {
      file: 'src/history/past/at.ts',
      replaces: 'if (from >= time) continue;',
      by: 'if (from > time) continue;',
    },
  },
  {
    name: 'a text that was redacted restored as missing',
    breaks: 'history: To take back',
    seenBy: inSuite(
      'test/units/history/restore-at.test.ts',
      'are left where one cannot be had, unless parts are asked for',
    ),
    planted: {
      file: 'src/history/change/plan-restore-at.ts',
      replaces: `if (version.text === 'redacted') left.set(path, { path, reason: 'redacted', version: version.id });
    else if`,
      by: 'if',
    },
  },
  {
    name: 'a file deleted that may have been there then',
    breaks: 'history: To take back',
    seenBy: inSuite(
      'test/units/history/restore-at.test.ts',
      'leaves the file that may have been there then, and deletes the one that was created since',
    ),
    planted: {
      file: 'src/history/change/plan-restore-at.ts',
      replaces: `if (unknown !== undefined) left.set(path, { path, ...unknown });
    else deletes`,
      by: 'deletes',
    },
  },
  {
    name: 'a plan carried out in part though nobody asked',
    breaks: 'history: In your own code',
    seenBy: inSuite(
      'test/units/history/restore-at.test.ts',
      'are left where one cannot be had, unless parts are asked for',
    ),
    planted: {
      file: 'src/history/change/carry-out.ts',
      replaces:
        "if (left.length > 0 && !partial) return answer([...done, ...changes], { ...rest, outcome: 'withheld' });",
      by: '',
    },
  },
  {
    name: 'another plan than the agreed one carried out',
    breaks: 'history: In your own code',
    seenBy: inSuite(
      'test/units/history/agreed-plan.test.ts',
      'is all that $verb does where another process $deed at any request',
    ),
    planted: {
      file: 'src/history/change/carry-out.ts',
      replaces: 'if (!isAgreed) throw anotherPlan(done, agreed);',
      by: '',
    },
  },
  {
    name: 'a plan carried out on a version that is another by now',
    breaks: 'history: To take back',
    seenBy: inSuite(
      'test/units/history/agreed-plan.test.ts',
      'is all that $verb does where another process $deed at any request',
    ),
    planted: {
      file: 'src/history/change/apply-plan.ts',
      replaces: 'if (found !== undefined && toBase64url(found.id) === version) return found;',
      by: 'if (found !== undefined) return found;',
    },
  },
  {
    name: 'texts that grow written before the deletes that make room',
    breaks: 'history: In your own code',
    seenBy: inSuite(
      'test/units/history/refused-plan.test.ts',
      'counts what is deleted, so that a plan fits that needs the room of what goes',
    ),
    planted: {
      file: 'src/history/change/apply-plan.ts',
      replaces: 'const last = isTight ? [others, growing] : [growing, others];',
      by: 'const last = [growing, others];',
    },
  },
  {
    name: 'a text undone on which others have built',
    breaks: 'history: To take back',
    seenBy: inSuite(
      'test/units/history/undo.test.ts',
      'is left where others have built on it, with the names of their versions',
    ),
    planted: {
      file: 'src/history/change/plan-undo.ts',
      replaces: 'if (start === 0 || force) before = found;',
      by: 'if (start >= 0) before = found;',
    },
  },
  {
    name: 'a rename undone from which others have gone on',
    breaks: 'history: To take back',
    seenBy: inSuite(
      'test/units/history/undo.test.ts',
      'is left where others have built on it, with the names of their versions',
    ),
    planted: {
      file: 'src/history/change/plan-undo.ts',
      replaces: 'if (last === renames.length - 1 && later.length === 0) return rename.from;',
      by: 'return rename.from;',
    },
  },
  {
    name: 'a delete undone over another file',
    breaks: 'history: To take back',
    seenBy: inSuite(
      'test/units/history/undo.test.ts',
      'is left where others have built on it, with the names of their versions',
    ),
    planted: {
      file: 'src/history/change/plan-undo.ts',
      replaces: "if (now !== undefined && (force || planned?.what === 'delete')) {",
      by: 'if (now !== undefined) {',
    },
  },
  {
    name: 'a redacted text written back without a look behind the write',
    breaks: 'protocols: History',
    seenBy: inSuite(
      'test/redactions/redactions.test.ts',
      'leaves no byte, or says what stays, at any request of %s',
    ),
    planted: {
      file: 'src/history/change/write-back.ts',
      replaces: 'if (etag !== undefined && !(await isTakenOut())) return;',
      by: 'if (etag !== undefined) return;',
    },
  },
];
