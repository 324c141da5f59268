import { expect, it } from 'vitest';
import { type FileRun, tellIfNobodys } from '../../../../src/cli/run/memory.ts';
import { invocationOf } from '../../../stage/invocation.ts';

it('a tenant that may not exist is not asked after where there is a file', async () => {
  const { invocation } = invocationOf({});
  const history = { state: () => Promise.reject(new Error('asked')) } as unknown as FileRun['history'];
  const asked = { history, options: {}, invocation } as unknown as FileRun;
  expect(await tellIfNobodys(asked, '/memories', [{ path: '/memories/a.md' }])).toEqual({});
  await expect(tellIfNobodys(asked, '/memories', [])).rejects.toThrow('asked');
});
