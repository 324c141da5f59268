import { inSimulation, inSuite, type SeededBug } from './seeded-bug.ts';

/** Bugs of expiry, limits, policies, sessions and of what a process has seen. */
export const UPKEEP_BUGS: readonly SeededBug[] = [
  {
    name: 'a line left out because it was there once',
    breaks: 'protocols: Sessions',
    seenBy: inSuite(
      'test/units/sessions/sessions.test.ts',
      'begins again after a delete with lines that a process knew to be there, and none beside them',
    ),
    planted: {
      file: 'src/sessions/append-lines.ts',
      replaces:
        "if (!isFresh && (last === 'none' || last === 'changed' || isFull(last) || rest.some(isThere))) {",
      by: "if (!isFresh && (last === 'none' || last === 'changed' || isFull(last))) {",
    },
  },
  {
    name: 'the time of an expiry taken from the clock of its process',
    breaks: 'protocols: Expiry',
    seenBy: inSimulation('changing keys', { store: 'unguarded', seed: 58 }),
    planted: {
      file: 'src/admin/expiry/record-classes.ts',
      replaces: 'return { now: servedAt, lastRead,',
      by: 'return { now: work.tenant.clock(), lastRead,',
    },
  },
  {
    name: 'a marked file deleted within the hour',
    breaks: 'protocols: Expiry',
    seenBy: inSuite(
      'test/units/admin/expiry/expire.test.ts',
      'leaves a marked file alone until an hour has passed',
    ),
    planted: {
      file: 'src/admin/expiry/expire-files.ts',
      replaces: 'return mark?.etag === written.etag && now - mark.since >= MARKED_FOR_MS;',
      by: 'return mark?.etag === written.etag;',
    },
  },
  {
    name: 'a file deleted on the mark of an earlier version',
    breaks: 'protocols: Expiry',
    seenBy: inSuite(
      'test/units/admin/expiry/expire.test.ts',
      'marks a file anew that was written since its mark, however long no run has come',
    ),
    planted: {
      file: 'src/admin/expiry/expire-files.ts',
      replaces: 'return mark?.etag === written.etag && now - mark.since >= MARKED_FOR_MS;',
      by: 'return mark !== undefined && now - mark.since >= MARKED_FOR_MS;',
    },
  },
  {
    name: 'a read on the day before or after overlooked',
    breaks: 'protocols: Expiry',
    seenBy: inSuite(
      'test/units/admin/expiry/expire-bounds.test.ts',
      'a read during the run keeps its file though its reader is %s ms off',
    ),
    planted: {
      file: 'src/admin/expiry/expire-files.ts',
      replaces: 'const days = [now - DAY_MS, now, now + DAY_MS].map(dayOf);',
      by: 'const days = [now].map(dayOf);',
    },
  },
  {
    name: 'a file expired without a last look at its reads',
    breaks: 'protocols: Expiry',
    seenBy: inSuite(
      'test/units/admin/expiry/expire.test.ts',
      'keeps a file that is read while the run is at work',
    ),
    planted: {
      file: 'src/admin/expiry/expire-files.ts',
      replaces: 'if (!(await wasReadLately(work, each))) unread.push(each);',
      by: 'unread.push(each);',
    },
  },
  {
    name: 'the delete of expiry sent however long after its look',
    breaks: 'protocols: Expiry',
    seenBy: inSuite(
      'test/units/admin/expiry/expire.test.ts',
      'leaves the files to a later run when that was %s',
    ),
    planted: {
      file: 'src/admin/expiry/expire-files.ts',
      replaces: 'const look = createAges(work.tenant).boundIn(LOOK_HOLDS_MS);',
      by: 'const look = createAges(work.tenant).boundIn(Number.POSITIVE_INFINITY);',
    },
  },
  {
    name: 'a migration counted as a use of a file',
    breaks: 'protocols: Expiry',
    seenBy: inSuite(
      'test/units/admin/expiry/expire.test.ts',
      'deletes a file that is migrated between the two runs, as the version that was migrated',
    ),
    planted: {
      file: 'src/admin/expiry/expire-files.ts',
      replaces: 'written: migrated.writtenVersion(object) };',
      by: 'written: object };',
    },
  },
  {
    name: 'records of the history gone before that is noted',
    breaks: 'protocols: Expiry',
    seenBy: inSuite(
      'test/units/admin/expiry/expire-actors.test.ts',
      'follows the history, whose note is there before its first record goes',
    ),
    planted: {
      file: 'src/admin/expiry/record-classes.ts',
      replaces: 'return { going: old, before: () => noteExpired(work, Math.floor(now - limitMs), leaving) };',
      by: 'return { going: old, after: () => noteExpired(work, Math.floor(now - limitMs), leaving) };',
    },
  },
  {
    name: 'answers that go before their receipts',
    breaks: 'protocols: Expiry',
    seenBy: inSuite(
      'test/units/admin/expiry/record-classes.test.ts',
      'go when more than so many days have passed, an answer only with its receipt',
    ),
    planted: {
      file: 'src/admin/expiry/record-classes.ts',
      replaces: 'return receipt !== undefined && ageOf(receipt) <= limitMs;',
      by: 'return receipt === undefined;',
    },
  },
  {
    name: 'an actor deleted whom a version names',
    breaks: 'protocols: Expiry',
    seenBy: inSuite(
      'test/units/admin/expiry/expire-actors.test.ts',
      'deletes actors that nothing there or kept names, and leaves all others',
    ),
    planted: {
      file: 'src/history/past/named-writers.ts',
      replaces: 'for (const { writer, redacted } of versions.values()) named.add(writer).add(redacted?.by);',
      by: 'for (const { redacted } of versions.values()) named.add(redacted?.by);',
    },
  },
  {
    name: 'an actor deleted on whom a process relies',
    breaks: 'protocols: Expiry',
    seenBy: inSuite(
      'test/units/admin/expiry/expire-actors.test.ts',
      'keeps whom a process has found there just behind a migration of keys',
    ),
    planted: {
      file: 'src/admin/expiry/record-classes.ts',
      replaces: 'rest.filter(({ object }) => now - object.lastModified > ACTOR_IN_USE_MS),',
      by: 'rest.filter(({ object }) => now > object.lastModified),',
    },
  },
  {
    name: 'actors deleted though a record may name them',
    breaks: 'protocols: Expiry',
    seenBy: inSuite(
      'test/units/admin/expiry/expire-actors.test.ts',
      'keeps all while something of %s cannot be opened, and may name any',
    ),
    planted: {
      file: 'src/history/past/named-writers.ts',
      replaces: 'return isWhole ? new Set([...named].filter((writer) => writer !== undefined)) : undefined;',
      by: 'return new Set([...named].filter((writer) => writer !== undefined));',
    },
  },
  {
    name: 'an actor named once for all days',
    breaks: 'protocols: Expiry',
    seenBy: inSuite(
      'test/units/admin/expiry/expire-actors.test.ts',
      'keeps who writes again while the run is at work, though nothing named him until then',
    ),
    planted: {
      file: 'src/history/save/actors.ts',
      replaces: 'const NAMED_FOR_MS = DAY_MS;',
      by: 'const NAMED_FOR_MS = 1_000 * DAY_MS;',
    },
  },
  {
    name: 'an old record of an attempt left as old as it is',
    breaks: 'protocols: Expiry',
    seenBy: inSuite(
      'test/units/history/save/version-saver.test.ts',
      'that was saved by an attempt which came to nothing counts its days from the change that comes hours later',
    ),
    planted: {
      file: 'src/history/save/version-saver.ts',
      replaces: 'if (saysAll && found.ageMs <= RENEWED_AFTER_MS) return undefined;',
      by: 'if (saysAll) return undefined;',
    },
  },
  {
    name: 'a body expired while its turn is at work',
    breaks: 'protocols: Expiry',
    seenBy: inSuite(
      'test/units/admin/expiry/expire-conversations.test.ts',
      'keeps one whose body a worker has just written, however old its head is',
    ),
    planted: {
      file: 'src/admin/expiry/record-classes.ts',
      replaces: 'const left = group.rest.filter(({ object }) => ageOf(object) > AT_WORK_MS);',
      by: 'const left = group.rest;',
    },
  },
  {
    name: 'a session expired though a line came meanwhile',
    breaks: 'protocols: Expiry',
    seenBy: inSuite('test/units/admin/expiry/expire-sessions.test.ts', '%s while it runs'),
    planted: {
      file: 'src/admin/expiry/record-classes.ts',
      replaces:
        'const ended = going.filter(({ head }) => head === undefined || !inUse.has(head.object.key));',
      by: 'const ended = going.filter(() => true);',
    },
  },
  {
    name: 'the newest checkpoint expired',
    breaks: 'checkpoints',
    seenBy: inSuite(
      'test/units/admin/expiry/expire-checkpoints.test.ts',
      'keeps the newest with its parts, however old it is',
    ),
    planted: {
      file: 'src/admin/expiry/record-classes.ts',
      replaces: 'return { going: old.filter(({ rest }) => !rest.some(({ id }) => isOfNewest(id))) };',
      by: 'return { going: old.filter(({ rest }) => rest.length > 0) };',
    },
  },
  {
    name: 'the room of a write given back that may have landed',
    breaks: 'policies: Limits',
    seenBy: inSuite(
      'test/units/tree/admission/quota.test.ts',
      'gives the room of a write back that did not land, and keeps that of one that may have landed',
    ),
    planted: {
      file: 'src/tree/admission/quota.ts',
      replaces: "room.close(hasCode(error, 'outcome_unknown') ? 'unknown' : 'not_written');",
      by: "room.close('not_written');",
    },
  },
  {
    name: 'a write under way counted twice',
    breaks: 'policies: Limits',
    seenBy: inSuite(
      'test/units/tree/admission/quota.test.ts',
      'counts a write under way, held %s it lands, once when it lists meanwhile',
    ),
    planted: {
      file: 'src/tree/admission/quota.ts',
      replaces: 'for (const { key } of usage.held) changed.set(key, NOTHING);',
      by: '',
    },
  },
  {
    name: 'a first count beside a rename',
    breaks: 'policies: Limits',
    seenBy: inSuite(
      'test/units/tree/admission/quota.test.ts',
      'counts for the first time once the renames under way have ended, whose files lie at two places',
    ),
    planted: {
      file: 'src/tree/admission/quota.ts',
      replaces: 'while (usage.countedAt === undefined && usage.renames.size > 0) {',
      by: 'while (false as boolean) {',
    },
  },
  {
    name: 'room asked for behind the write',
    breaks: 'policies: Limits',
    seenBy: inSuite(
      'test/units/tree/admission/quota.test.ts',
      'never lets 50 creates at once exceed a limit, in %i sessions of one process',
    ),
    planted: {
      file: 'src/tree/admission/quota.ts',
      replaces: `      await room.take(size);
      try {
        const result = await write();`,
      by: `      try {
        const result = await write();
        await room.take(size);`,
    },
  },
  {
    name: 'the text written that a policy has redacted',
    breaks: 'policies: Sensitive information',
    seenBy: inSuite(
      'test/units/tool/policies.test.ts',
      'has placeholders written in the place of what it redacts, and the reply says so',
    ),
    planted: {
      file: 'src/tree/admission/admission.ts',
      replaces: '  return verdict.redact;',
      by: '  return content;',
    },
  },
  {
    name: 'a policy that fails taken for one that allows',
    breaks: 'policies: Sensitive information',
    seenBy: inSuite(
      'test/units/tool/policies.test.ts',
      'that %s has nothing written, and says nothing of the text',
    ),
    planted: {
      file: 'src/tree/admission/admission.ts',
      replaces: "throw failure ?? failed('failed');",
      by: "return 'allow';",
    },
  },
  {
    name: 'the new name of a file not judged',
    breaks: 'policies: Sensitive information',
    seenBy: inSuite('test/units/tool/policies.test.ts', 'refuses a %s before anything is sealed'),
    planted: {
      file: 'src/tree/admission/admission.ts',
      replaces:
        "if (verdict !== 'allow') throw refused('refuse' in verdict ? verdict.refuse : verdict.findings);",
      by: '',
    },
  },
  {
    name: 'a version refused and noted all the same',
    breaks: 'protocols: An older version put back',
    seenBy: inSuite('test/units/tree/sightings.test.ts', 'learns nothing from a version that it refuses'),
    planted: {
      file: 'src/tree/sightings.ts',
      replaces: `      if (superseded !== undefined && superseded < since) throw putBack();
      note(sighting);`,
      by: `      note(sighting);
      if (superseded !== undefined && superseded < since) throw putBack();`,
    },
  },
  {
    name: 'absence that supersedes no version',
    breaks: 'protocols: An older version put back',
    seenBy: inSuite(
      'test/units/tree/rollback.test.ts',
      'is refused after a delete by another process that was noticed',
    ),
    planted: {
      file: 'src/tree/sightings.ts',
      replaces: 'supersede(touch(key), { since, now: next(), by: undefined });',
      by: 'touch(key);',
    },
  },
  {
    name: 'a delete of our own that is not noted',
    breaks: 'protocols: An older version put back',
    seenBy: inSuite('test/units/tree/rollback.test.ts', 'is refused after a delete of our own'),
    planted: {
      file: 'src/tree/confirmed-put.ts',
      replaces: 'for (const { key } of targets) if (!there.has(key)) sightings.sawNothing({ key, since });',
      by: '',
    },
  },
];
