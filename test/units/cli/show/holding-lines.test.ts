import { expect, it } from 'vitest';
import { tellingWhatHolds } from '../../../../src/cli/show/holding-lines.ts';
import { MemoryError } from '../../../../src/errors.ts';
import { invocationOf } from '../../../stage/invocation.ts';

const VERSION = 'abcdefghijklmnopqrstuv';

it.each([
  [
    ['/memories/a', '/memories/b'],
    [VERSION, VERSION],
  ],
  [['/memories/a'], []],
])(
  'a text that may have been written back is told with its files and what to do: %j',
  async (paths, versions) => {
    const failure = new MemoryError('outcome_unknown', 'it may lie in a file', {
      details: { reason: 'redacted', paths, versions },
    });
    const toldOf = async (json: boolean): Promise<string> => {
      const { invocation, shown } = invocationOf({ flags: { json } });
      await expect(tellingWhatHolds(invocation.report, Promise.reject(failure))).rejects.toBe(failure);
      return shown.join('');
    };
    const lines = (await toldOf(false)).trim().split('\n');
    const entries = (await toldOf(true)).trim().split('\n');
    expect(lines).toHaveLength(paths.length);
    for (const [index, path] of paths.entries()) {
      const version = versions[index];
      const name = (version && `v${version.slice(0, 8)}`) ?? 'VERSION, which "log" names';
      const toDo = `edit or delete the file, then "redact" ${path} ${name}`;
      expect(lines[index]).toBe(`holds    ${path}${version === undefined ? '' : `  ${name}`}: ${toDo}`);
      expect(JSON.parse(entries[index] ?? '')).toEqual({
        event: 'entry',
        what: 'holds',
        path,
        version,
        toDo,
      });
    }
  },
);
