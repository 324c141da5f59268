import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type ProbeFinding, probeConditions } from '../../../../src/cli/keys/condition-probe.ts';
import { MemoryError } from '../../../../src/errors.ts';
import { type ObjectStore, resentConflict } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { keepMarks } from '../../../stage/store-wrappers.ts';

/** Answers what the probe finds on a store of SQLite that differs in `changes`, and what it leaves there. */
async function probe(
  changes: (store: ObjectStore) => Partial<ObjectStore>,
  options: { readonly isTrustedGuarded?: boolean } = {},
): Promise<{ readonly findings: readonly ProbeFinding[]; readonly left: number }> {
  await using store = openSqliteObjectStore({ path: ':memory:' });
  const findings: ProbeFinding[] = [];
  const isTrustedGuarded = options.isTrustedGuarded ?? true;
  for await (const finding of probeConditions({
    store: { ...store, ...changes(store) },
    scratch: 'tenants/acme/probe-x',
    isTrustedGuarded,
  })) {
    findings.push(finding);
  }
  let left = 0;
  for await (const page of store.list({ prefix: '' })) left += page.objects.length;
  return { findings, left };
}

const failures = (findings: readonly ProbeFinding[]) =>
  findings.filter(({ ok }) => !ok).map(({ what }) => what);

const CREATE = 'conditions: a create never replaces what is there';
const EDIT = 'conditions: an edit replaces only the version it was made from';
const RACE = 'conditions: of 16 racing writers exactly one wins';
const AGAIN = 'conditions: what was deleted can be created again, and not edited';

describe('probeConditions', () => {
  it('finds nothing wrong with a store that keeps its word, and leaves nothing behind', async () => {
    const { findings, left } = await probe(() => ({}));
    expect(findings).toHaveLength(5);
    expect(failures(findings)).toEqual([]);
    expect(left).toBe(0);
  });

  it('notices a store that ignores the condition of a create', async () => {
    const { findings, left } = await probe((store) => ({
      put: (key, body, options) =>
        store.put(key, body, options.mode === 'create' ? { ...options, mode: 'overwrite' } : options),
    }));
    expect(failures(findings)).toEqual([CREATE, RACE]);
    expect(left).toBe(0);
  });

  it('notices a store that ignores the condition of an edit', async () => {
    const { findings } = await probe((store) => ({
      put: (key, body, options) =>
        store.put(key, body, typeof options.mode === 'object' ? { ...options, mode: 'overwrite' } : options),
    }));
    expect(failures(findings)).toEqual([EDIT, RACE, AGAIN]);
  });

  it('notices a store for which the mark of a delete is an object', async () => {
    const { findings, left } = await probe(keepMarks);
    expect(failures(findings)).toEqual([AGAIN]);
    expect(left).toBe(0);
  });

  it('notices a store that checks the condition first and writes later', async () => {
    const { findings } = await probe((store) => ({
      put: async (key, body, options) => {
        if (options.mode !== 'overwrite') {
          const found = await store.head(key);
          if (options.mode === 'create' && found) return { conflict: 'exists' };
          if (typeof options.mode === 'object' && found?.etag !== options.mode.ifMatch)
            return { conflict: found ? 'changed' : 'missing' };
          await pause(10);
        }
        return store.put(key, body, { ...options, mode: 'overwrite' });
      },
    }));
    expect(failures(findings)).toEqual([RACE]);
  });

  it('notices a store that does not show what it has written', async () => {
    const { findings } = await probe(() => ({ head: async () => undefined }), { isTrustedGuarded: false });
    expect(failures(findings)).toEqual([RACE]);
  });

  it('takes a retried write that met itself for the winner', async () => {
    const { findings } = await probe((store) => ({
      put: async (key, body, options) => {
        const result = await store.put(key, body, options);
        if (key.endsWith('-race') && 'etag' in result) throw resentConflict();
        return result;
      },
    }));
    expect(failures(findings)).toEqual([]);
  });

  const ignoringDeletes = (store: ObjectStore): Partial<ObjectStore> => ({
    delete: (targets, options) =>
      store.delete(
        targets.map(({ key }) => ({ key })),
        options,
      ),
  });

  it('refuses a store that ignores the condition of a delete where it is trusted', async () => {
    const { findings } = await probe(ignoringDeletes);
    const [failure, ...others] = findings.filter(({ ok }) => !ok);
    expect(failure?.advice).toContain('SEALED_MEMORY_S3_GUARDED=0');
    expect(others).toEqual([]);
  });

  it('calls a store unguarded where it is not trusted, with a hint if it may be more', async () => {
    const ignoring = await probe(ignoringDeletes, { isTrustedGuarded: false });
    const honouring = await probe(() => ({}), { isTrustedGuarded: false });
    expect(failures([...ignoring.findings, ...honouring.findings])).toEqual([]);
    const said = (findings: readonly ProbeFinding[]) =>
      findings.find(({ what }) => what.startsWith('deletes:'))?.what;
    expect(said(ignoring.findings)).toContain('unguarded');
    expect(said(ignoring.findings)).not.toContain('SEALED_MEMORY_S3_GUARDED');
    expect(said(honouring.findings)).toContain('SEALED_MEMORY_S3_GUARDED=1');
  });

  it('throws what the store throws, after it has cleaned up', async () => {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    const denied = new MemoryError('access_denied', 'no writes');
    let puts = 0;
    const limited: ObjectStore = {
      ...store,
      put: (key, body, options) => (++puts > 3 ? Promise.reject(denied) : store.put(key, body, options)),
    };
    const findings = probeConditions({ store: limited, scratch: 'probe-x', isTrustedGuarded: true });
    await findings.next();
    await expect(findings.next()).rejects.toBe(denied);
    for await (const page of store.list({ prefix: '' })) expect(page.objects).toEqual([]);
  });

  it('cleans up, too, when its caller cancels it', async () => {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    const cancelling = new AbortController();
    const { signal } = cancelling;
    const findings = probeConditions({ store, scratch: 'probe-x', isTrustedGuarded: true, signal });
    await findings.next();
    cancelling.abort();
    await expect(findings.next()).rejects.toMatchObject({ code: 'aborted' });
    for await (const page of store.list({ prefix: '' })) expect(page.objects).toEqual([]);
  });

  it('says that scratch objects stayed behind', async () => {
    const { findings } = await probe((store) => ({
      delete: async (targets, options) =>
        targets.length > 1
          ? Promise.reject(new MemoryError('access_denied', 'no'))
          : store.delete(targets, options),
    }));
    expect(failures(findings)).toEqual(['scratch objects: not all could be removed']);
  });
});
