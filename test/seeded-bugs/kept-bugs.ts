import { inSimulation, inSuite, type SeededBug } from './seeded-bug.ts';

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
  {
    name: 'a part of a checkpoint that may stand for another one',
    breaks: 'checkpoints',
    seenBy: inSuite(
      'test/units/admin/checkpoints/checkpoint.test.ts',
      'of several parts is damaged where one is gone, or two are exchanged',
    ),
    planted: {
      file: 'src/admin/checkpoints/checkpoint.ts',
      replaces: 'digests.push(hashPart(secret, part, content));',
      by: 'digests.push(hashPart(secret, 0, content));',
    },
  },
  {
    name: 'a checkpoint that lists the files once',
    breaks: 'checkpoints',
    seenBy: inSuite(
      'test/units/admin/checkpoints/checkpoint.test.ts',
      'has a file that is renamed from before it is read to where the listing has been',
    ),
    planted: {
      file: 'src/admin/checkpoints/checkpoint.ts',
      replaces: '      if (!isTaken && !unread.has(file.path)) later.push(file);',
      by: '',
    },
  },
  {
    name: 'a checkpoint that has what the last one had',
    breaks: 'checkpoints',
    seenBy: inSuite(
      'test/checkpoints/checkpoints.test.ts',
      'raise none in a run where one rule prevents it: %s',
    ),
    planted: {
      file: 'src/admin/checkpoints/checkpoint.ts',
      replaces: 'return entry?.etag === file.etag && !tenant.sightings.knowsOther(file);',
      by: 'return entry !== undefined;',
    },
  },
  {
    name: 'a file that came back behind its end passed over',
    breaks: 'checkpoints',
    seenBy: inSuite('test/checkpoints/checkpoints.test.ts', 'is named when he %s'),
    planted: {
      file: 'src/admin/verify/judge-since.ts',
      replaces: 'const finding = hadEnded(scene, file) ?? leadsNotBack(scene, file);',
      by: 'const finding = leadsNotBack(scene, file);',
    },
  },
  {
    name: 'an end that accuses what was bound behind it',
    breaks: 'checkpoints',
    seenBy: inSuite(
      'test/checkpoints/checkpoints.test.ts',
      'raise none in a run where one rule prevents it: %s',
    ),
    planted: {
      file: 'src/admin/verify/judge-since.ts',
      replaces: '.filter(({ from, bound }) => from === file.path && bound >= file.bound);',
      by: '.filter(({ from }) => from === file.path);',
    },
  },
  {
    name: 'clocks that never differ',
    breaks: 'checkpoints',
    seenBy: inSuite(
      'test/checkpoints/checkpoints.test.ts',
      'raise none in a run where one rule prevents it: %s',
    ),
    planted: {
      file: 'src/admin/verify/judge-since.ts',
      replaces: 'const CLOCK_MS = 900_000;',
      by: 'const CLOCK_MS = 0;',
    },
  },
  {
    name: 'an alarm about what the history does not reach',
    breaks: 'checkpoints',
    seenBy: inSuite(
      'test/checkpoints/checkpoints.test.ts',
      'raise none in a run where one rule prevents it: %s',
    ),
    planted: {
      file: 'src/admin/verify/judge-since.ts',
      replaces: 'if (facts.began < kept.from) return kept.otherwise;',
      by: '',
    },
  },
  {
    name: 'a history that is complete however much of it has expired',
    breaks: 'checkpoints',
    seenBy: inSuite(
      'test/units/admin/verify/verify-since-kept.test.ts',
      'is nothing that an expiry run deleted, however long it is kept since',
    ),
    planted: {
      file: 'src/admin/verify/kept-from.ts',
      replaces:
        'const kept = Math.max(await expiredBefore(work), tenant.stamps.storeTime() - historyDays * DAY_MS) + DAY_MS;',
      by: 'const kept = 0;',
    },
  },
  {
    name: 'a trace that ends with the turn',
    breaks: 'history: What is kept',
    seenBy: inSuite(
      'test/units/worker/trace.test.ts',
      'goes on with the conversation of a turn that read it',
    ),
    planted: {
      file: 'src/history/trace/trace.ts',
      replaces: 'for (const next of followers.get(run.id) ?? []) reachRun(next, -1);',
      by: '',
    },
  },
  {
    name: 'a trace that loses a text which is brought back',
    breaks: 'history: What is kept',
    seenBy: inSuite(
      'test/units/worker/trace.test.ts',
      'follows what brings a traced text back, as an undo of its repair does, and none that was there before',
    ),
    planted: {
      file: 'src/history/trace/trace.ts',
      replaces: `      reachAgain(version);
      for`,
      by: '      for',
    },
  },
  {
    name: 'a trace from before the version was read',
    breaks: 'history: What is kept',
    seenBy: inSuite(
      'test/units/worker/trace.test.ts',
      'finds who read a version, what they wrote then, and who read that',
    ),
    planted: {
      file: 'src/history/trace/trace.ts',
      replaces:
        'for (const touch of run.list.slice(index + 1, before === undefined ? undefined : before + 1))',
      by: 'for (const touch of run.list.slice(0, before === undefined ? undefined : before + 1))',
    },
  },
  {
    name: 'versions of one file in the order of their clocks',
    breaks: 'history: What is kept',
    seenBy: inSimulation('one file', { history: 'kept' }),
    planted: {
      file: 'src/history/past/order.ts',
      replaces:
        "const time = Math.max(at?.time ?? 0, 'leave' in event ? event.leave.at : event.version.mtime);",
      by: "const time = 'leave' in event ? event.leave.at : event.version.mtime;",
    },
  },
  {
    name: 'a rename by the actor who finishes it',
    breaks: 'protocols: Rename of a directory',
    seenBy: inSuite(
      'test/units/history/moves.test.ts',
      'says on whose behalf it began, though another actor finished it',
    ),
    planted: {
      file: 'src/history/save/version-saver.ts',
      replaces: "const moved = { kind: 'moved', at: noted(work).at, by, from, to } as const;",
      by: "const moved = { kind: 'moved', ...noted(work), from, to } as const;",
    },
  },
  {
    name: 'a repair that removes the older place of a file that has changed',
    breaks: 'protocols: Promises',
    seenBy: inSuite(
      'test/units/admin/verify/duplicates.test.ts',
      'stay where the newest changes while the repair is at work',
    ),
    planted: {
      file: 'src/tree/rename/keep-newest.ts',
      replaces: 'if (kept === undefined) return [];',
      by: "if (kept === undefined) work.tenant.logger.warn('it has changed');",
    },
  },
  {
    name: 'a pair repaired while its rename may be at work',
    breaks: 'protocols: Promises',
    seenBy: inSuite(
      'test/units/admin/verify/duplicates.test.ts',
      'wait for the youngest of them, however old the others are',
    ),
    planted: {
      file: 'src/admin/verify/duplicates.ts',
      replaces: 'if (isRenaming || seen.some((meta) => meta !== undefined && ageOf(meta) < QUIET_MS)) {',
      by: 'if (isRenaming) {',
    },
  },
  {
    name: 'a repair that is not written down',
    breaks: 'protocols: History',
    seenBy: inSuite(
      'test/pairs/history-and-verbs.test.ts',
      'gives no alarm since a checkpoint where a cut-off rename was repaired, on a %s store',
    ),
    planted: {
      file: 'src/tree/rename/keep-newest.ts',
      replaces:
        'await work.saver?.noteMoved(work, { from: path, to: newest.path, id: kept.origin }, [path, id, bound]);',
      by: '',
    },
  },
  {
    name: 'a trace that passes over what nothing tells of',
    breaks: 'history: What is kept',
    seenBy: inSuite(
      'test/units/worker/trace.test.ts',
      'has a turn that was cut off, and what it wrote without a word being saved of it',
    ),
    planted: {
      file: 'src/history/trace/trace.ts',
      replaces: 'for (const { id } of unrecorded(run.turn)) reachVersion(id, run);',
      by: '',
    },
  },
  {
    name: 'a held version saved however long ago the store confirmed it',
    breaks: 'protocols: What a process holds',
    seenBy: inSuite(
      'test/units/history/save/version-saver.test.ts',
      'is saved unasked within five minutes of its last answer, and behind one GET without its bytes later',
    ),
    planted: {
      file: 'src/tree/staying/staying.ts',
      replaces: 'if (work.saver !== undefined && !isConfirmed(work, key)) return undefined;',
      by: '',
    },
  },
  {
    name: 'no pass behind the record that is redacted last',
    breaks: 'protocols: History',
    seenBy: inSuite(
      'test/redactions/redactions.test.ts',
      'leaves no byte, or says what stays, whenever %s happens',
    ),
    planted: {
      file: 'src/history/change/redact.ts',
      replaces: `    erasure.last = 'gone';
    await redactFound(work, erasure, last);`,
      by: `    erasure.last = 'gone';
    await redactFound(work, erasure, last);
    return;`,
    },
  },
  {
    name: 'a version that was saved in vain left with its text',
    breaks: 'protocols: History',
    seenBy: inSuite(
      'test/units/history/save/version-saver.test.ts',
      'is taken out of the record that %s leaves',
    ),
    planted: {
      file: 'src/history/save/version-saver.ts',
      replaces: 'if (now !== undefined && sameBytes(now.id, id)) return;',
      by: 'if (work !== undefined) return;',
    },
  },
];
