import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { questionsOf } from '../../../src/page/server/answer-questions.ts';
import { answerPlaces } from '../../../src/page/server/places.ts';

const asking = { signal: new AbortController().signal, send: async () => {} };

it('turns the random names of addresses back into paths, and takes no other names', async () => {
  const { keepPlace, place } = questionsOf(answerPlaces());
  const name = randomUUID();
  const path = '/memories/customers/acme.md';
  expect(await keepPlace?.({ name, path }, asking)).toEqual({ requests: {} });
  expect(await place?.({ name }, asking)).toEqual({ path, requests: {} });
  expect(await place?.({ name: randomUUID() }, asking)).toEqual({ requests: {} });
  for (const wrong of ['acme', '__proto__', `${name}/..`, `${name}\n`]) {
    await expect(keepPlace?.({ name: wrong, path }, asking)).rejects.toMatchObject({
      code: 'invalid_command',
    });
  }
  await expect(keepPlace?.({ name, path: '/etc' }, asking)).rejects.toMatchObject({ code: 'invalid_path' });
});

it('knows the newest 10,000 names', async () => {
  const { keepPlace, place } = questionsOf(answerPlaces());
  const names = Array.from({ length: 10_001 }, () => randomUUID());
  for (const name of names) await keepPlace?.({ name, path: '/memories/a.md' }, asking);
  expect(await place?.({ name: names[0] }, asking)).not.toHaveProperty('path');
  expect(await place?.({ name: names[1] }, asking)).toHaveProperty('path');
});
