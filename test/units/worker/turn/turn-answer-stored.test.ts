import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { startLocalWorker } from '../../../../infra/local/lambda/local-worker.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { openAnswers } from '../../../../src/worker/turn/turn-answer.ts';

it('answers that a reply points to are read with the tenant’s keys, and only there', async () => {
  await using store = openSqliteObjectStore({ path: ':memory:' });
  const rootKey = randomBytes(32).toString('base64');
  await using site = await startLocalWorker(store, undefined, { memory: { store, rootKey } });
  await site.deliver([{ tenant: 'acme', turn: 'turn-1', prompt: 'Hello' }]);
  await using answers = await openAnswers({ store, rootKey, tenant: 'acme' });
  expect(await answers.read('turn-1')).toMatchObject({ outcome: 'answered', text: 'You said: Hello' });
  expect(await answers.read('turn-2')).toBeUndefined();
  await using others = await openAnswers({ store, rootKey, tenant: 'other' });
  expect(await others.read('turn-1')).toBeUndefined();
});

it('answers are read until their reader cancels, or closes them in either way', async () => {
  await using store = openSqliteObjectStore({ path: ':memory:' });
  const rootKey = randomBytes(32).toString('base64');
  await using site = await startLocalWorker(store, undefined, { memory: { store, rootKey } });
  await site.deliver([{ tenant: 'acme', turn: 'turn-1', prompt: 'Hello' }]);
  for (const end of ['close', Symbol.asyncDispose] as const) {
    const answers = await openAnswers({ store, rootKey, tenant: 'acme' });
    const given = answers.read('turn-1', { signal: AbortSignal.abort() });
    await expect(given).rejects.toMatchObject({ code: 'aborted' });
    expect(await answers.read('turn-1')).toMatchObject({ outcome: 'answered' });
    await answers[end]();
    await expect(answers.read('turn-1')).rejects.toMatchObject({ code: 'aborted' });
  }
});
