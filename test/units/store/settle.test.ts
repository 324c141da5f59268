import { expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import type { ETag, ObjectStore, PutOptions, WriteResult } from '../../../src/store/port.ts';
import { isTooLate, lateness, resentConflict } from '../../../src/store/port.ts';
import { type Body, settlePut } from '../../../src/store/settle.ts';
import { noAnswer } from '../../stage/store-wrappers.ts';

const KEY = 'tenants/t/data/a.sealed' as ObjectKey;
const BASE = '"base"' as ETag;

const MOST_ATTEMPTS = 20;

/** A store that holds nothing. `send` is what becomes of each PUT that is not too late. */
function emptyStore(send: (options: PutOptions) => Promise<WriteResult>) {
  const sent: Uint8Array[] = [];
  let attempts = 0;
  const store: Pick<ObjectStore, 'get' | 'put'> = {
    async put(_, bytes, options) {
      if (++attempts > MOST_ATTEMPTS) throw new Error('the write does not end');
      const late = lateness(options.sendBy);
      if (late !== undefined) throw late;
      sent.push(bytes);
      return send(options);
    },
    get: async () => undefined,
  };
  return { store, sent };
}

/** A body whose bound passes when the test says so. */
function bounded(byte: number): Body & { pass(): void } {
  let past = false;
  return {
    bytes: Uint8Array.of(byte),
    sendBy: { isPast: () => past },
    pass() {
      past = true;
    },
  };
}

it('ends a write that came too late and has no way to make its body again', async () => {
  const { store, sent } = emptyStore(async () => ({ etag: BASE }));
  const body = bounded(1);
  body.pass();
  const settled = settlePut(store, { key: KEY, mode: { ifMatch: BASE }, body });
  expect(isTooLate(await settled.catch((error: unknown) => error))).toBe(true);
  expect(sent).toEqual([]);
});

it('does not know the outcome of a write without renewal that came too late after a lost attempt', async () => {
  const body = bounded(1);
  const stored = { body: Uint8Array.of(9), etag: BASE, size: 1, lastModified: 0, servedAt: 0 };
  const { store, sent } = emptyStore(() => {
    body.pass();
    return Promise.reject(noAnswer());
  });
  await expect(
    settlePut({ ...store, get: async () => stored }, { key: KEY, mode: { ifMatch: BASE }, body }),
  ).rejects.toMatchObject({ code: 'outcome_unknown' });
  expect(sent).toHaveLength(1);
});

it('makes no other body for a create of which an attempt may have landed and been deleted', async () => {
  const bodies = [bounded(1), bounded(2)] as const;
  const { store, sent } = emptyStore(() => {
    bodies[0].pass();
    return sent.length === 1 ? Promise.reject(noAnswer()) : Promise.resolve({ etag: BASE });
  });
  const write = { key: KEY, mode: 'create' as const, body: bodies[0], renew: async () => bodies[1] };
  await expect(settlePut(store, write)).rejects.toMatchObject({ code: 'outcome_unknown' });
  expect(sent).toEqual([bodies[0].bytes]);
});

it('makes another body for a create that was never sent', async () => {
  const bodies = [bounded(1), bounded(2)] as const;
  bodies[0].pass();
  const { store, sent } = emptyStore(async () => ({ etag: BASE }));
  const write = { key: KEY, mode: 'create' as const, body: bodies[0], renew: async () => bodies[1] };
  expect(await settlePut(store, write)).toEqual({ etag: BASE, body: bodies[1] });
  expect(sent).toEqual([bodies[1].bytes]);
});

it('returns the body that landed where an answer was lost, and the next one came too late to be sent again', async () => {
  const bodies = [bounded(1), bounded(2)] as const;
  const base = { body: Uint8Array.of(9), etag: BASE, size: 1, lastModified: 0, servedAt: 0 };
  const { store, sent } = emptyStore(async () => {
    if (sent.length > 1) return { etag: '"new"' as ETag };
    bodies[0].pass();
    throw noAnswer();
  });
  const write = { key: KEY, mode: { ifMatch: BASE }, body: bodies[0], renew: async () => bodies[1] };
  const settled = await settlePut({ ...store, get: async () => base }, write);
  expect(settled).toEqual({ etag: '"new"', body: bodies[1] });
  expect(sent).toEqual([bodies[0].bytes, bodies[1].bytes]);
});

it('says that a write was never sent when each of eight bodies came too late', async () => {
  const { store, sent } = emptyStore(async () => ({ etag: BASE }));
  let made = 1;
  const late = (): Body => {
    const body = bounded(made);
    body.pass();
    return body;
  };
  const renew = async (): Promise<Body> => {
    made++;
    return late();
  };
  const error = await settlePut(store, { key: KEY, mode: 'create', body: late(), renew }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(MemoryError);
  expect(error).toMatchObject({ code: 'unavailable' });
  expect([made, sent]).toEqual([8, []]);
});

const [OWN, OTHERS] = [Uint8Array.of(1), Uint8Array.of(9)];
const NEWER = '"newer"' as ETag;
const stored = (body: Uint8Array, etag: ETag) => ({ body, etag, size: 1, lastModified: 0, servedAt: 0 });
const edit = { ifMatch: BASE };

it.each([
  ['a create that finds nothing is sent again', 'create' as const, undefined, 'sent again'],
  ['a create that finds what it wrote has written it', 'create' as const, stored(OWN, NEWER), 'own'],
  ['a create that finds another body was overtaken', 'create' as const, stored(OTHERS, NEWER), 'replaced'],
  ['an edit that finds nothing was overtaken', edit, undefined, 'replaced'],
  ['an edit that finds its base is sent again', edit, stored(OTHERS, BASE), 'sent again'],
  ['an edit that finds what it wrote has written it', edit, stored(OWN, NEWER), 'own'],
  ['an edit that finds another version was overtaken', edit, stored(OTHERS, NEWER), 'replaced'],
])('after an answer that was lost %s', async (_, mode, found, verdict) => {
  const sentAgain = { etag: '"again"' as ETag };
  const { store, sent } = emptyStore(async () => {
    if (sent.length === 1) throw noAnswer();
    return sentAgain;
  });
  const body = { bytes: OWN };
  const settled = await settlePut({ ...store, get: async () => found }, { key: KEY, mode, body });
  const told = { own: { etag: NEWER, body }, 'sent again': { ...sentAgain, body }, replaced: 'replaced' };
  expect(settled).toEqual(told[verdict as keyof typeof told]);
  expect(sent).toHaveLength(verdict === 'sent again' ? 2 : 1);
});

it.each([
  ['met its condition after an attempt that the client had sent before', [resentConflict()]],
  ['met a file after an answer that was lost', [noAnswer(), { conflict: 'exists' as const }]],
])('does not create again what was seen to be gone: a create that %s', async (_, answers) => {
  const { store, sent } = emptyStore(async () => {
    const answer = answers[sent.length - 1] ?? { etag: BASE };
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const write = { key: KEY, mode: 'create' as const, body: { bytes: OWN } };
  await expect(settlePut(store, write)).rejects.toMatchObject({ code: 'outcome_unknown' });
  expect(sent).toHaveLength(answers.length);
});

const found = stored(OTHERS, BASE);

it('sends an edit again whose condition failed although its base is what is there', async () => {
  const answers = [noAnswer(), { conflict: 'changed' as const }];
  const { store, sent } = emptyStore(async () => {
    const answer = answers[sent.length - 1] ?? { etag: NEWER };
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const body = { bytes: OWN };
  const settled = await settlePut({ ...store, get: async () => found }, { key: KEY, mode: edit, body });
  expect(settled).toEqual({ etag: NEWER, body });
  expect(sent).toHaveLength(3);
});

it.each([
  ['within its bound', bounded(1)],
  ['without a bound', { bytes: OWN }],
])('sends the same body again %s, though it could be made again', async (_, body) => {
  const { store, sent } = emptyStore(async () => {
    if (sent.length === 1) throw noAnswer();
    return { etag: NEWER };
  });
  const renew = () => Promise.reject(new Error('it was made again'));
  const write = { key: KEY, mode: edit, body, renew };
  expect(await settlePut({ ...store, get: async () => found }, write)).toEqual({ etag: NEWER, body });
  expect(sent).toEqual([body.bytes, body.bytes]);
});

it('does not know the outcome where one of eight bodies was sent, and the others came too late', async () => {
  const first = bounded(0);
  const { store, sent } = emptyStore(() => {
    first.pass();
    return Promise.reject(noAnswer());
  });
  let made = 1;
  const renew = async (): Promise<Body> => {
    const body = bounded(made++);
    body.pass();
    return body;
  };
  const write = { key: KEY, mode: edit, body: first, renew };
  await expect(settlePut({ ...store, get: async () => found }, write)).rejects.toMatchObject({
    code: 'outcome_unknown',
  });
  expect([made, sent]).toEqual([8, [first.bytes]]);
});

it.each([
  ['throws what makes a body again throws, where none was sent', false],
  ['does not know the outcome where a body was sent, and none can be made again', true],
])('%s', async (_, wasSent) => {
  const body = bounded(1);
  if (!wasSent) body.pass();
  const { store } = emptyStore(() => {
    body.pass();
    return Promise.reject(noAnswer());
  });
  const error = new MemoryError('unavailable', 'no key');
  const write = { key: KEY, mode: edit, body, renew: () => Promise.reject(error) };
  const settled = settlePut({ ...store, get: async () => found }, write);
  if (wasSent) await expect(settled).rejects.toMatchObject({ code: 'outcome_unknown', cause: error });
  else await expect(settled).rejects.toBe(error);
});
