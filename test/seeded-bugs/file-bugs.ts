import { inSimulation, inSuite, type SeededBug } from './seeded-bug.ts';

/** Bugs of files, tombstones and renames, planted in the code. */
export const FILE_BUGS: readonly SeededBug[] = [
  {
    name: 'a write answered before the commit that it is in',
    breaks: 'protocols: Writes that share a transaction of SQLite',
    seenBy: inSuite(
      'test/units/store/sqlite/joined-writes.test.ts',
      'have no outcome that is known, all of a transaction, where its commit has none',
    ),
    planted: {
      file: 'src/store/sqlite/joined-writes.ts',
      replaces: 'results.push(write.work(database, manner));',
      by: `results.push(write.work(database, manner));
        write.answer({ result: results.at(-1) });`,
    },
  },
  {
    name: 'a write that was cancelled committed with others',
    breaks: 'protocols: Writes that share a transaction of SQLite',
    seenBy: inSuite(
      'test/units/store/sqlite/joined-writes.test.ts',
      'are not written once their caller has cancelled; the others are',
    ),
    planted: {
      file: 'src/store/sqlite/joined-writes.ts',
      replaces: 'takeSome(queue).filter(isBegun)',
      by: 'takeSome(queue)',
    },
  },
  {
    name: 'a file deleted as another version than the one that was saved',
    breaks: 'protocols: History',
    seenBy: inSuite(
      'test/units/history/delete-as-one.test.ts',
      'takes a file that was edited meanwhile as it is then, and the others with it',
    ),
    planted: {
      file: 'src/history/save/version-saver.ts',
      replaces: 'deletes: leaving.map(({ file: { key, etag } }) => ({ key, ifMatch: etag })),',
      by: 'deletes: leaving.map(({ file: { key } }) => ({ key })) as never,',
    },
  },
  {
    name: 'a rename that looks for no clashes',
    breaks: 'protocols: Rename of a file',
    seenBy: inSimulation('clashes', { store: 'guarded' }),
    planted: {
      file: 'src/tree/rename/rename-file.ts',
      replaces: '() => findClash(work, rename.to, ancestorsOf(rename.from)));',
      by: 'async () => undefined);',
    },
  },
  {
    name: 'a delete of the source without an answer taken for done by others',
    breaks: 'protocols: Rename of a file',
    seenBy: inSuite(
      'test/units/tree/rename/rename-file.test.ts',
      'does not know the outcome when its delete was sent twice and the source is gone',
    ),
    planted: {
      file: 'src/tree/rename/rename-file.ts',
      replaces: `      refuseUnknown(failure);
`,
      by: '',
    },
  },
  {
    name: 'a copy left where the source was gone',
    breaks: 'protocols: Rename of a file',
    seenBy: inSimulation('files', { store: 'unguarded' }),
    planted: {
      file: 'src/tree/rename/rename-file.ts',
      replaces: 'if (newer === undefined) return takeTargetBack(work, copied.target);',
      by: "if (newer === undefined) throw new MemoryError('not_found', 'the source is gone');",
    },
  },
  {
    name: 'a write that a migration has bound taken for built on',
    breaks: 'protocols: Taking a write back',
    seenBy: inSuite(
      'test/units/tree/staying/undo.test.ts',
      'removes what a migration of keys has made of it, however often',
    ),
    planted: {
      file: 'src/tree/staying/take-back.ts',
      replaces: "if (!isStill(written, found)) return 'built_on';",
      by: "return 'built_on';",
    },
  },
  {
    name: 'what is ours told by the id of its version alone',
    breaks: 'protocols: Taking a write back',
    seenBy: inSuite(
      'test/units/tree/staying/undo.test.ts',
      'leaves what another process has moved away and back, though it is the same version',
    ),
    planted: {
      file: 'src/tree/staying/take-back.ts',
      replaces: 'return equalBytes(later.id, earlier.id) && hasOrigin(later, earlier.origin);',
      by: 'return equalBytes(later.id, earlier.id);',
    },
  },
  {
    name: 'a young file above not waited for',
    breaks: 'protocols: Create',
    seenBy: inSuite('test/units/tree/staying/clashes.test.ts', 'waits for a young file above to go'),
    planted: {
      file: 'src/tree/staying/clashes.ts',
      replaces: 'if (ageOf(found) > TAKEN_BACK_WITHIN_MS || clock() >= deadline || !mayGo()) return true;',
      by: 'return true;',
    },
  },
  {
    name: 'a lease counted from the answer',
    breaks: 'protocols: Rename of a directory',
    seenBy: inSuite(
      'test/units/tree/rename/lease-clocks.test.ts',
      'count from the sending of what renewed it, not from the answer',
    ),
    planted: {
      file: 'src/tree/rename/lease.ts',
      replaces: `    const sentAt = ages.now();
    const written = await writeRegister(quiet, next, etag);`,
      by: `    const written = await writeRegister(quiet, next, etag);
    const sentAt = ages.now();`,
    },
  },
  {
    name: 'sources deleted while the register says copying',
    breaks: 'protocols: Rename of a directory',
    seenBy: inSimulation('moving directories'),
    planted: {
      file: 'src/tree/rename/rename-directory.ts',
      replaces: `  await lease.enter('moving').catch(rejectUnknown);
`,
      by: '',
    },
  },
  {
    name: 'a tombstone removed however late',
    breaks: 'protocols: Two classes of stores',
    seenBy: inSuite(
      'test/units/store/guarded-delete.test.ts',
      'is not sent at all when placing the tombstones took 30 seconds',
    ),
    planted: {
      file: 'src/store/tombstones.ts',
      replaces: `  const placing = within(PLACING_MS, time);
`,
      by: `  const placing = { isPast: () => false };
`,
    },
  },
  {
    name: 'an old tombstone deleted as it lies',
    breaks: 'protocols: Two classes of stores',
    seenBy: inSuite(
      'test/units/store/guarded-delete-burial.test.ts',
      'passes one over in whose place something else may lie after a lost answer, and goes on',
    ),
    planted: {
      file: 'src/store/tombstones.ts',
      replaces:
        'const placed = await placeTombstone({ store, target, random, signal }).catch((error: unknown) => {',
      by: 'const placed = await Promise.resolve<Burial | DeleteFailure>({ buried: key }).catch((error: unknown) => {',
    },
  },
  {
    name: 'the DELETE of a tombstone without an end',
    breaks: 'protocols: Two classes of stores',
    seenBy: inSuite(
      'test/units/store/guarded-delete-bounds.test.ts',
      'may not be sent later than 15 s by the %s',
    ),
    planted: {
      file: 'src/store/tombstones.ts',
      replaces: 'return await request({ sendBy, signal: life.signal });',
      by: 'return await request({ sendBy: { isPast: () => false }, signal: life.signal });',
    },
  },
  {
    name: 'the reserve taken without the lock',
    breaks: 'protocols: A full disk under SQLite',
    seenBy: inSuite(
      'test/units/store/sqlite/connection.test.ts',
      'leaves the reserve to the next write, because the lock is gone with the connection',
    ),
    planted: {
      file: 'src/store/sqlite/connection.ts',
      replaces: 'if (released !== undefined && database !== undefined) room.take();',
      by: 'if (released !== undefined) room.take();',
    },
  },
  {
    name: 'an expired history noted in room that is not there',
    breaks: 'protocols: A full disk under SQLite',
    seenBy: inSuite(
      'test/units/admin/expiry/expire-full-disk.test.ts',
      'a history expires in the room of what goes, where nothing is left of what is kept for deletes',
    ),
    planted: {
      file: 'src/admin/expiry/history-note.ts',
      replaces: '{ content, base: earlier?.etag, leaving }',
      by: '{ content, base: earlier?.etag, leaving: [] }',
    },
  },
  {
    name: 'a copy that was moved on told as not found',
    breaks: 'protocols: Rename of a file',
    seenBy: inSuite(
      'test/units/tree/rename/rename-file.test.ts',
      'does not call the source missing when its copy was moved on before it could be taken back',
    ),
    planted: {
      file: 'src/tree/rename/rename-file.ts',
      replaces: `  if (undone === 'gone') throw notTakenBack(undefined);
  throw new MemoryError`,
      by: '  throw new MemoryError',
    },
  },
  {
    name: 'a copy under the origin of an earlier rename',
    breaks: 'protocols: Rename of a file',
    seenBy: inSuite(
      'test/units/tree/rename/rename-file.test.ts',
      'takes its copy back, too, when a migration of keys has written it again',
    ),
    planted: {
      file: 'src/tree/rename/rename-file.ts',
      replaces: 'return copyVersion(work, source, { ...stamp, from, to, origin: rename.id });',
      by: 'return copyVersion(work, source, { ...stamp, from, to, origin: source.origin });',
    },
  },
  {
    name: 'a lease taken over while it runs',
    breaks: 'protocols: Rename of a directory',
    seenBy: inSuite(
      'test/units/tree/rename/finish-renames-takeover.test.ts',
      'waits for ten seconds after the last write, by the clock of the server',
    ),
    planted: {
      file: 'src/tree/rename/finish-renames.ts',
      replaces: 'if (entry === undefined || ageMs <= LEASE_MS) return false;',
      by: 'if (entry === undefined) return false;',
    },
  },
  {
    name: 'copies taken back while the register says copying',
    breaks: 'protocols: Rename of a directory',
    seenBy: inSuite(
      'test/units/tree/rename/rename-directory-aborting.test.ts',
      'says so in the register before the first copy goes',
    ),
    planted: {
      file: 'src/tree/rename/rename-directory.ts',
      replaces: `    await lease.enter('aborting');
`,
      by: '',
    },
  },
  {
    name: 'a takeover that takes copies back on the word of a late delete',
    breaks: 'protocols: Rename of a directory',
    seenBy: inSuite(
      'test/units/tree/rename/delete-sources.test.ts',
      'takes the copy back of a file that a user deleted, also of one deleted before a takeover',
    ),
    planted: {
      file: 'src/tree/rename/delete-sources.ts',
      replaces: 'if (takenOver && round === 0 && isMissing(failure)) continue;',
      by: '',
    },
  },
  {
    name: 'a file that a user deleted left at its copy',
    breaks: 'protocols: Rename of a directory',
    seenBy: inSuite(
      'test/units/tree/rename/delete-sources.test.ts',
      'takes the copy back of a file that a user deleted, also of one deleted before a takeover',
    ),
    planted: {
      file: 'src/tree/rename/delete-sources.ts',
      replaces: `    await takePutBack(work, file.target);
    return 'done';
  }
  try`,
      by: `    return 'done';
  }
  try`,
    },
  },
  {
    name: 'a copy told by its place alone',
    breaks: 'protocols: Rename of a directory',
    seenBy: inSuite(
      'test/units/tree/rename/copy-files.test.ts',
      'stops at a target that is taken, or goes on with the others',
    ),
    planted: {
      file: 'src/tree/rename/copy-files.ts',
      replaces: "if (!hasOrigin(earlier, rename.id)) return 'taken';",
      by: '',
    },
  },
  {
    name: 'a new file taken for a newer version of the one that was moved',
    breaks: 'protocols: Rename of a directory',
    seenBy: inSuite(
      'test/units/tree/rename/delete-sources.test.ts',
      'keeps the copy when an earlier attempt of its own may have deleted the source, not one that was edited',
    ),
    planted: {
      file: 'src/tree/rename/delete-sources.ts',
      replaces: "if (!(await isEditOf(work, file))) return 'done';",
      by: '',
    },
  },
  {
    name: 'files created in a source that moves left there',
    breaks: 'protocols: Rename of a directory',
    seenBy: inSuite(
      'test/units/tree/rename/rename-directory-forward.test.ts',
      'leaves a late file where it is that cannot be copied, and names it',
    ),
    planted: {
      file: 'src/tree/rename/rename-directory.ts',
      replaces: 'if (late.length === 0) break;',
      by: 'break;',
    },
  },
  {
    name: 'a new file copied over one that has moved',
    breaks: 'protocols: Rename of a directory',
    seenBy: inSimulation('moving directories', { store: 'guarded' }),
    planted: {
      file: 'src/tree/rename/copy-files.ts',
      replaces: "if (phase === 'moving' && !equalBytes(earlier.id, source.id)) return 'taken';",
      by: '',
    },
  },
  {
    name: 'a directory deleted whose rename was cut off',
    breaks: 'protocols: Delete of a directory',
    seenBy: inSuite(
      'test/units/tree/remove-rounds.test.ts',
      'lists again behind a rename that it had to finish',
    ),
    planted: {
      file: 'src/tree/remove.ts',
      replaces: "if (await renames.finishAbandoned(work)) return 'again';",
      by: '',
    },
  },
  {
    name: 'the DELETE of a tombstone sent again',
    breaks: 'protocols: Two classes of stores',
    seenBy: inSuite('test/units/store/guarded-delete.test.ts', 'never resends a DELETE'),
    planted: {
      file: 'src/store/tombstones.ts',
      replaces: `        return 'left';
      }
    },`,
      by: `        await store.delete(keys.map((key) => ({ key }))).catch(() => {});
        return 'left';
      }
    },`,
    },
  },
  {
    name: 'a database that grows into its reserve',
    breaks: 'protocols: A full disk under SQLite',
    seenBy: inSuite(
      'test/units/store/sqlite/connection.test.ts',
      'leaves the reserve to the next write, because the lock is gone with the connection',
    ),
    planted: {
      file: 'src/store/sqlite/connection.ts',
      replaces: 'boundGrowth(database, reserve === undefined || reserve.take() ? undefined : 0);',
      by: 'boundGrowth(database, undefined);',
    },
  },
];
