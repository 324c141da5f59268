import { describe, expect, it } from 'vitest';
import { runCheckpoint } from '../../../src/cli/verbs/checkpoint.ts';
import type { Invocation } from '../../../src/cli/verbs/invocation.ts';
import { runVerify } from '../../../src/cli/verbs/verify.ts';
import { invocationOf } from '../../doubles/invocation.ts';

describe('options of which one would be passed over', () => {
  it.each<[string, string, (invocation: Invocation) => Promise<number>]>([
    ['verify --proof --repair', '--repair', (on) => runVerify({ proof: 'p', since: 's', repair: true }, on)],
    [
      'checkpoint --accept --prove',
      '--accept',
      (on) => runCheckpoint({ accept: 'l', prove: '/memories/a' }, on),
    ],
  ])('are refused together, before anything is opened: %s', async (_, named, verb) => {
    const refusal = await Promise.resolve(invocationOf({}).invocation)
      .then(verb)
      .catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'misconfigured', message: expect.stringContaining(named) });
    expect(refusal).toMatchObject({ message: expect.not.stringContaining('not set') });
  });
});
