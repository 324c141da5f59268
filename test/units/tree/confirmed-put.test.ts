import { expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { open } from '../../../src/format/object.ts';
import { fileKey, logicalName } from '../../../src/format/object-keys.ts';
import { nextBound } from '../../../src/format/wrap.ts';
import type { ETag, SendBound } from '../../../src/store/port.ts';
import { type ConditionalWrite, confirmedPut } from '../../../src/tree/confirmed-put.ts';
import { textWrite } from '../../../src/tree/create-file.ts';
import type { Work } from '../../../src/tree/tenant.ts';
import { atFirst, loseAnswer, noAnswer, sendTwice } from '../../stage/store-wrappers.ts';
import { at, bytes, describeOnBothKinds, type TestClient, withTenant } from '../../stage/test-tree.ts';

const PATH = at('/memories/notes.md');

describeOnBothKinds('a confirmed PUT', (newSite) => {
  async function start(): Promise<{ client: TestClient; work: Work; base: ETag }> {
    const client = await (await newSite()).client();
    await client.create(PATH, 'base');
    const work = await client.open();
    const base = (await work.tenant.store.head(keyOf(work)))?.etag;
    if (base === undefined) throw new Error('the base is missing');
    client.calls.length = 0;
    return { client, work, base };
  }

  it('answers with the ETag that was written, by one request', async () => {
    const { client, work, base } = await start();
    const outcome = await confirmedPut(work, edit(work, 'new', base));
    expect(client.calls).toHaveLength(1);
    expect(outcome).toEqual(await written(work));
  });

  it('binds each attempt later than the one before, also by a clock that goes back', async () => {
    const { work, base } = await start();
    const { clock, keyrings } = work.tenant;
    let [attempts, readings] = [0, 0];
    const sendBy = (): SendBound => {
      const attempt = ++attempts;
      return { isPast: () => attempt < 4 };
    };
    const back = { clock: () => clock() - ++readings * 60_000, keyrings: { ...keyrings, sendBy } };
    const bounds: bigint[] = [];
    const write = edit(work, 'new', base);
    const outcome = await confirmedPut(withTenant(work, back), {
      ...write,
      seal(stamp) {
        bounds.push(nextBound(stamp.clock, stamp.after));
        return write.seal(stamp);
      },
    });
    expect(bounds).toHaveLength(4);
    for (const [nth, bound] of bounds.slice(1).entries()) expect(bound > (bounds[nth] ?? bound)).toBe(true);
    expect(outcome).toEqual(await written(work));
    expect(outcome).toMatchObject({ bound: bounds.at(-1) });
  });

  it('reports a condition that failed at the first attempt without reading back', async () => {
    const { client, work, base } = await start();
    await client.append(PATH, '+');
    client.calls.length = 0;
    expect(await confirmedPut(work, edit(work, 'new', base))).toEqual({ conflict: 'changed' });
    expect(await confirmedPut(work, create(work, 'new'))).toEqual({ conflict: 'exists' });
    await client.remove(PATH);
    client.calls.length = 0;
    expect(await confirmedPut(work, edit(work, 'new', base))).toEqual({ conflict: 'missing' });
    expect(client.calls).toHaveLength(1);
  });

  it('recognises its own write by the header when the answer was lost', async () => {
    const { client, work, base } = await start();
    client.intercept(atFirst('put', (proceed) => loseAnswer(proceed)));
    const outcome = await confirmedPut(work, edit(work, 'new', base));
    expect(outcome).toEqual(await written(work));
    expect(await client.text(PATH)).toBe('new');
    expect(client.calls.filter(({ verb }) => verb === 'put')).toHaveLength(1);
  });

  it('recognises its own create when the answer was lost', async () => {
    const { client, work } = await start();
    await client.remove(PATH);
    client.intercept(atFirst('put', (proceed) => loseAnswer(proceed)));
    expect(await confirmedPut(work, create(work, 'new'))).toHaveProperty('etag');
    expect(await client.text(PATH)).toBe('new');
  });

  it('sends the identical bytes again when the lost request was not executed', async () => {
    const { client, work, base } = await start();
    const write = edit(work, 'new', base);
    client.intercept(atFirst('put', () => Promise.reject(noAnswer())));
    expect(await confirmedPut(work, write)).toHaveProperty('etag');
    const sent = client.calls.flatMap((call) => (call.verb === 'put' ? [call.body] : []));
    expect(sent).toHaveLength(2);
    expect(sent[0]).toEqual(sent[1]);
    expect(await client.text(PATH)).toBe('new');
  });

  it('sends a create again when nothing is there', async () => {
    const { client, work } = await start();
    await client.remove(PATH);
    client.intercept(atFirst('put', () => Promise.reject(noAnswer())));
    expect(await confirmedPut(work, create(work, 'new'))).toHaveProperty('etag');
    expect(await client.text(PATH)).toBe('new');
  });

  it('reads back when the condition failed after more than one attempt, and finds its own write', async () => {
    const { client, work, base } = await start();
    client.intercept(atFirst('put', (proceed) => sendTwice(proceed)));
    expect(await confirmedPut(work, edit(work, 'new', base))).toHaveProperty('etag');
    expect(await client.text(PATH)).toBe('new');
    expect(client.calls.filter(({ verb }) => verb === 'put')).toHaveLength(1);
  });

  it('does not know the outcome when another process has written since the lost answer', async () => {
    const { client, work, base } = await start();
    client.intercept(
      atFirst('put', async (proceed) => {
        const first = await proceed();
        const { etag } = first as { etag: ETag };
        await work.tenant.store.put(keyOf(work), sealed(work, 'newer'), {
          mode: { ifMatch: etag },
        });
        throw noAnswer();
      }),
    );
    await expect(confirmedPut(work, edit(work, 'new', base))).rejects.toMatchObject(UNKNOWN);
    expect(await client.text(PATH)).toBe('newer');
  });

  it('does not know the outcome when the object is gone after a lost edit, and never turns it into a create', async () => {
    const { client, work, base } = await start();
    client.intercept(
      atFirst('put', async () => {
        const current = await work.tenant.store.head(keyOf(work));
        await work.tenant.store.delete([{ key: keyOf(work), ifMatch: current?.etag }]);
        throw noAnswer();
      }),
    );
    await expect(confirmedPut(work, edit(work, 'new', base))).rejects.toMatchObject(UNKNOWN);
    expect(await client.text(PATH)).toBeUndefined();
  });

  it('does not know the outcome when another process created the file instead', async () => {
    const { client, work } = await start();
    await client.remove(PATH);
    client.intercept(
      atFirst('put', async () => {
        await work.tenant.store.put(keyOf(work), sealed(work, 'theirs'), { mode: 'create' });
        throw noAnswer();
      }),
    );
    await expect(confirmedPut(work, create(work, 'ours'))).rejects.toMatchObject(UNKNOWN);
    expect(await client.text(PATH)).toBe('theirs');
  });

  it('never creates again what another process may have deleted since it was first created', async () => {
    const { client, work } = await start();
    await client.remove(PATH);
    const other = await client.open();
    client.intercept(
      atFirst('put', async (proceed) => {
        return sendTwice(proceed).finally(async () => {
          const found = await other.tenant.store.head(keyOf(other));
          await other.tenant.store.delete([{ key: keyOf(other), ifMatch: found?.etag }]);
        });
      }),
    );
    await expect(confirmedPut(work, create(work, 'new'))).rejects.toMatchObject(UNKNOWN);
    expect(await client.text(PATH)).toBeUndefined();
  });

  it('ends after three sends without an answer, and tells the truth about it', async () => {
    const { client, work, base } = await start();
    client.intercept((call, proceed) => (call.verb === 'put' ? Promise.reject(noAnswer()) : proceed()));
    await expect(confirmedPut(work, edit(work, 'new', base))).rejects.toMatchObject(UNKNOWN);
    expect(client.calls.filter(({ verb }) => verb === 'put')).toHaveLength(3);
    expect(await client.text(PATH)).toBe('base');
  });

  it('does not know the outcome when reading back fails', async () => {
    const { client, work, base } = await start();
    client.intercept((call, proceed) => {
      if (call.verb === 'put') return loseAnswer(proceed);
      return Promise.reject(new MemoryError('unavailable', 'down'));
    });
    await expect(confirmedPut(work, edit(work, 'new', base))).rejects.toMatchObject(UNKNOWN);
  });

  it('does not know the outcome when a refusal follows an attempt without an answer', async () => {
    const { client, work, base } = await start();
    let puts = 0;
    client.intercept((call, proceed) => {
      if (call.verb !== 'put') return proceed();
      return Promise.reject(++puts === 1 ? noAnswer() : new MemoryError('access_denied', 'no'));
    });
    await expect(confirmedPut(work, edit(work, 'new', base))).rejects.toMatchObject(UNKNOWN);
  });

  it.each(['an edit', 'a lost create'])(
    'remembers that nothing was there when %s found that',
    async (what) => {
      const { client, work, base } = await start();
      const key = keyOf(work);
      expect(await client.text(PATH)).toBe('base');
      const stored = await work.tenant.store.get(key);
      await work.tenant.store.delete([{ key, ifMatch: base }]);
      if (what === 'an edit') {
        expect(await confirmedPut(work, edit(work, 'new', base))).toEqual({ conflict: 'missing' });
      } else {
        client.intercept((call, proceed) => (call.verb === 'put' ? Promise.reject(noAnswer()) : proceed()));
        await expect(confirmedPut(work, create(work, 'new'))).rejects.toMatchObject(UNKNOWN);
        client.intercept((_, proceed) => proceed());
      }
      if (typeof stored !== 'object') throw new Error('the base is missing');
      await work.tenant.store.put(key, stored.body, { mode: 'create' });
      await expect(client.text(PATH)).rejects.toMatchObject({ code: 'integrity' });
    },
  );

  it('does not know the outcome when its own write is there again behind a newer one that it has seen', async () => {
    const { client, work, base } = await start();
    let met = false;
    client.intercept(async (call, proceed) => {
      if (met || call.verb !== 'put') return proceed();
      met = true;
      await proceed();
      expect(await client.text(PATH)).toBe('new');
      await client.append(PATH, 'er');
      await work.tenant.store.put(keyOf(work), call.body, { mode: 'overwrite' });
      throw noAnswer();
    });
    await expect(confirmedPut(work, edit(work, 'new', base))).rejects.toMatchObject(UNKNOWN);
  });

  it('takes nothing that it reads back, and did not seal itself, for a version that was there', async () => {
    const { client, work, base } = await start();
    const { store } = work.tenant;
    const whole = await store.get(keyOf(work));
    if (typeof whole !== 'object') throw new Error('the base is missing');
    expect(await client.text(PATH)).toBe('base');
    client.intercept(
      atFirst('put', async () => {
        await store.put(keyOf(work), bytes('no object of ours '.repeat(20)), { mode: 'overwrite' });
        throw noAnswer();
      }),
    );
    await expect(confirmedPut(work, edit(work, 'new', base))).rejects.toMatchObject(UNKNOWN);
    await store.put(keyOf(work), whole.body, { mode: 'overwrite' });
    expect(await client.text(PATH)).toBe('base');
  });

  it('is written again where no keyring tells that its key is active', async () => {
    const { client, work, base } = await start();
    let attempts = 0;
    const sendBy = (): SendBound => {
      const attempt = ++attempts;
      // The first one is known too late to have landed.
      return { isPast: () => attempt === 1 && client.calls.length > 0 };
    };
    const keyrings = { ...work.tenant.keyrings, sendBy, look: async () => undefined };
    const outcome = await confirmedPut(withTenant(work, { keyrings }), edit(work, 'new', base));
    expect([outcome, attempts]).toEqual([await written(work), 2]);
    expect(await client.text(PATH)).toBe('new');
  });

  it('passes on why it cannot be sealed, and loads the keyring again for no such reason', async () => {
    const { client, work, base } = await start();
    let loads = 0;
    const { keyrings } = work.tenant;
    const load: typeof keyrings.load = (options) => {
      loads++;
      return keyrings.load(options);
    };
    const error = new MemoryError('integrity', 'no');
    const write: ConditionalWrite = {
      ...edit(work, 'new', base),
      seal() {
        throw error;
      },
    };
    await expect(confirmedPut(withTenant(work, { keyrings: { ...keyrings, load } }), write)).rejects.toBe(
      error,
    );
    expect([loads, client.calls]).toEqual([0, []]);
  });

  it('passes on a failure that certainly wrote nothing', async () => {
    const { client, work, base } = await start();
    client.intercept(() => Promise.reject(new MemoryError('access_denied', 'no')));
    await expect(confirmedPut(work, edit(work, 'new', base))).rejects.toMatchObject({
      code: 'access_denied',
    });
  });
});

const UNKNOWN = { code: 'outcome_unknown' };

/** Answers what lies in the store, as the outcome of its write names it. */
async function written(work: Work): Promise<unknown> {
  const found = await work.tenant.store.get(keyOf(work));
  if (typeof found !== 'object') return undefined;
  const { etag, body } = found;
  const { bound } = open({ keys: work.keyring.keys, name: logicalName(at(PATH)), object: body });
  return { etag, body, bound };
}

function keyOf(work: Work): ReturnType<typeof fileKey> {
  return fileKey(work.tenant.layout, work.keyring.names, PATH);
}

function edit(work: Work, text: string, base: ETag): ConditionalWrite {
  return { ...create(work, text), mode: { ifMatch: base } };
}

/** Answers the bytes that another process would send. */
function sealed(work: Work, text: string): Uint8Array {
  return textWrite(work, PATH, bytes(text)).write.seal({ clock: work.tenant.clock(), after: undefined });
}

function create(work: Work, text: string): ConditionalWrite {
  return { ...textWrite(work, PATH, bytes(text)).write, mode: 'create' };
}
