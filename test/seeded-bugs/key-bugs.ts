import { inSimulation, inSuite, type SeededBug } from './seeded-bug.ts';

/** Bugs of keys: how they are made, used, migrated and retired. */
export const KEY_BUGS: readonly SeededBug[] = [
  {
    name: 'a keyring that seals without an end',
    breaks: 'protocols: Sending bound',
    seenBy: inSuite(
      'test/units/keys/keyring-cache.test.ts',
      'ends before a key may be retired that was active until then: %d ms',
    ),
    planted: {
      file: 'src/keys/keyring-cache.ts',
      replaces: 'const SEALING_TTLS = 5 / 3;',
      by: 'const SEALING_TTLS = 50;',
    },
  },
  {
    name: 'a time to live counted from the end of the load',
    breaks: 'protocols: Sending bound',
    seenBy: inSuite('test/units/keys/keyring-cache.test.ts', 'counts from the start of the load'),
    planted: {
      file: 'src/keys/keyring-cache.ts',
      replaces: 'return keep(await editor.fetch({ create, signal }), since, signal);',
      by: 'return keep(await editor.fetch({ create, signal }), now(), signal);',
    },
  },
  {
    name: 'a bound by the wall clock alone',
    breaks: 'protocols: Sending bound',
    seenBy: inSuite('test/units/keys/keyring-cache.test.ts', 'passes by %s, and stays past'),
    planted: {
      file: 'src/time.ts',
      replaces:
        'return [wall - since.wall, steady - since.steady].every((age) => age >= 0 && age < limitMs);',
      by: 'return wall - since.wall >= 0 && wall - since.wall < limitMs;',
    },
  },
  {
    name: 'a keyring used before it is confirmed',
    breaks: 'protocols: The formal model',
    seenBy: inSuite(
      'test/units/keys/keyring-cache.test.ts',
      'makes one keyring when ten processes race for it',
    ),
    planted: {
      file: 'src/keys/keyring-editor.ts',
      replaces: `        const found = await reader.find({ signal });
        if (found === undefined) throw unconfirmed();
        return await reader.open(found, { signal });`,
      by: '        return { keyring, bytes };',
    },
  },
  {
    name: 'a keyring made beside data',
    breaks: 'protocols: The formal model',
    seenBy: inSuite('test/units/keys/keyring-cache.test.ts', 'refuses data without a keyring, create: %s'),
    planted: {
      file: 'src/keys/keyring-editor.ts',
      replaces: 'if (await hasData({ signal })) {',
      by: 'if (false as boolean) {',
    },
  },
  {
    name: 'a late success acknowledged without a look',
    breaks: 'protocols: Sending bound',
    seenBy: inSuite(
      'test/units/tree/sending-bound.test.ts',
      'is readable all the same: a file that was created',
    ),
    planted: {
      file: 'src/tree/confirmed-put.ts',
      replaces: 'if (!sealed.sendBy.isPast() || (await isSealedByActiveKey(work, sealed))) return written;',
      by: 'if (looks > 0) return written;',
    },
  },
  {
    name: 'a key that is merely held taken for the active one',
    breaks: 'protocols: Sending bound',
    seenBy: inSuite(
      'test/units/tree/sending-bound.test.ts',
      'is looked at once more where a pass that was too early for it still goes on',
    ),
    planted: {
      file: 'src/tree/confirmed-put.ts',
      replaces: 'equalBytes(keyring.keys.active.keyId, keyId);',
      by: 'keyring.keys.find(keyId) !== undefined;',
    },
  },
  {
    name: 'sealed bytes sent past their bound',
    breaks: 'protocols: Sending bound',
    seenBy: inSuite('test/units/tree/sending-bound.test.ts', 'seals again before it sends, %s'),
    planted: {
      file: 'src/tree/confirmed-put.ts',
      replaces: 'return { ...write.seal(), sendBy };',
      by: 'return { ...write.seal(), sendBy: { isPast: () => false } };',
    },
  },
  {
    name: 'a sending bound counted from after the sealing',
    breaks: 'protocols: Sending bound',
    seenBy: inSuite('test/units/tree/sending-bound.test.ts', 'counts the time that the sealing took'),
    planted: {
      file: 'src/tree/confirmed-put.ts',
      replaces: `    const sendBy = keyrings.sendBy();
    return { ...write.seal(), sendBy };`,
      by: `    const sealing = write.seal();
    return { ...sealing, sendBy: keyrings.sendBy() };`,
    },
  },
  {
    name: 'a create sealed again that may have landed',
    breaks: 'protocols: Sending bound',
    seenBy: inSuite(
      'test/units/store/settle.test.ts',
      'makes no other body for a create of which an attempt may have landed and been deleted',
    ),
    planted: {
      file: 'src/store/settle.ts',
      replaces: "if (mode === 'create' && sent.length > 0) throw outcomeUnknown();",
      by: '',
    },
  },
  {
    name: 'a migration without If-Match',
    breaks: 'protocols: Migration of objects',
    seenBy: inSimulation('edits under changing keys'),
    planted: {
      file: 'src/tree/write-again.ts',
      replaces: 'mode: { ifMatch: base },',
      by: "mode: 'overwrite' as never,",
    },
  },
  {
    name: 'a key retired without a wait',
    breaks: 'protocols: Migration of objects',
    seenBy: inSuite(
      'test/units/admin/keys/migrate.test.ts',
      'waits for twice the time to live since the keyring was written, to the millisecond',
    ),
    planted: {
      file: 'src/admin/keys/migrate.ts',
      replaces: 'const dueInMs = 2 * ttlMs - facts.ageMs;',
      by: 'const dueInMs = -facts.ageMs;',
    },
  },
  {
    name: 'a key retired though a pass found it',
    breaks: 'protocols: Migration of objects',
    seenBy: inSuite(
      'test/units/admin/keys/migrate.test.ts',
      'leaves what is younger than a minute to the next pass, and keeps its key',
    ),
    planted: {
      file: 'src/admin/keys/retire-keys.ts',
      replaces: 'free: old.filter((version) => !found.has(version)),',
      by: 'free: old,',
    },
  },
  {
    name: 'the key of an object that cannot be read retired',
    breaks: 'protocols: Migration of objects',
    seenBy: inSuite(
      'test/units/admin/keys/migrate.test.ts',
      'holds every old key when it is too large to be read',
    ),
    planted: {
      file: 'src/admin/keys/retire-keys.ts',
      replaces: 'if (unread > 0) return { free: [], blocked: old };',
      by: '',
    },
  },
  {
    name: 'keys taken from a keyring that has changed',
    breaks: 'protocols: Migration of objects',
    seenBy: inSuite(
      'test/units/admin/keys/migrate.test.ts',
      'gives way to a keyring that was written between the pass and the retirement',
    ),
    planted: {
      file: 'src/admin/keys/retire-keys.ts',
      replaces: '(etag === facts.etag ? withoutKeys(keyring, versions) : undefined)',
      by: '(etag === keyring.keyringId.toString() ? undefined : withoutKeys(keyring, versions))',
    },
  },
  {
    name: 'files of a rename migrated while its lease runs',
    breaks: 'protocols: Migration of objects',
    seenBy: inSuite(
      'test/units/admin/keys/migrate.test.ts',
      'leaves a directory that is being renamed to its renamer, and the register with it',
    ),
    planted: {
      file: 'src/admin/keys/migrate-pass.ts',
      replaces: "if (record.cls === 'data') return renames.touches(work, record.path);",
      by: "if (record.cls === 'data') return false;",
    },
  },
  {
    name: 'a receipt migrated while its turn is at work',
    breaks: 'protocols: Migration of objects',
    seenBy: inSuite(
      'test/units/admin/keys/migrate.test.ts',
      'leaves a receipt alone as long as a turn may be at work with it',
    ),
    planted: {
      file: 'src/admin/keys/migrate-pass.ts',
      replaces: "if (record.cls === 'receipts') return ageOf(version.stored) < RECEIPT_IN_USE_MS;",
      by: "if (record.cls === 'receipts') return false;",
    },
  },
  {
    name: 'a young object migrated',
    breaks: 'protocols: Migration of objects',
    seenBy: inSuite(
      'test/units/admin/keys/migrate.test.ts',
      'leaves what is younger than a minute to the next pass, and keeps its key',
    ),
    planted: {
      file: 'src/admin/keys/migrate-pass.ts',
      replaces: "if (ageOf(version.stored) <= STAYS_AFTER_MS) return { state: 'young', keyVersion };",
      by: '',
    },
  },
];
