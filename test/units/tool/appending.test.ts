import { expect, it, vi } from 'vitest';
import { MemoryError, type MemoryErrorCode } from '../../../src/errors.ts';
import { parseMemoryPath } from '../../../src/language/path.ts';
import { createAppending } from '../../../src/tool/appending.ts';
import type { Tree } from '../../../src/tree/tree.ts';

const path = parseMemoryPath('/memories/a');
const MORE = Uint8Array.of(3, 4);
const options = { actor: 'me' };
const failure = (code: MemoryErrorCode, reason?: string) =>
  new MemoryError(code, code, reason === undefined ? {} : { details: { reason } });
const missing = () => Promise.reject(failure('not_found'));

function appending(edit: () => Promise<unknown>, create: () => Promise<unknown>, maxFileBytes = 4) {
  const tree = { edit: vi.fn(edit), create: vi.fn(create) };
  const append = createAppending({ tree: tree as unknown as Tree, maxFileBytes });
  return {
    append,
    edit: tree.edit as ReturnType<typeof vi.fn>,
    create: tree.create as ReturnType<typeof vi.fn>,
  };
}

it('adds bytes behind those of the file, up to the limit', async () => {
  const { append, edit, create } = appending(
    async () => {},
    async () => {},
  );
  await append(path, MORE, options);
  const [at, change, given] = edit.mock.calls[0] ?? [];
  expect([at, given]).toEqual([path, options]);
  expect(change(Uint8Array.of(1, 2))).toEqual({ content: Uint8Array.of(1, 2, 3, 4), result: undefined });
  expect(change(new Uint8Array(0)).content).toEqual(MORE);
  expect(() => change(Uint8Array.of(0, 1, 2))).toThrow(
    expect.objectContaining({ details: { limit: 'file_bytes', value: 5, max: 4 } }),
  );
  expect(create).not.toHaveBeenCalled();
});

it('creates the file that is missing', async () => {
  const { append, edit, create } = appending(missing, async () => {});
  await append(path, MORE, options);
  expect(create.mock.calls).toEqual([[path, MORE, options]]);
  expect(edit).toHaveBeenCalledTimes(1);
});

it.each([
  ['access_denied', undefined],
  ['version_conflict', undefined],
  ['already_exists', 'below_file'],
] as const)('fails at once with %s (%s)', async (code, reason) => {
  const { append, edit, create } = appending(missing, () => Promise.reject(failure(code, reason)));
  await expect(append(path, MORE, options)).rejects.toMatchObject({ code });
  const failing = appending(
    () => Promise.reject(failure(code, reason)),
    async () => {},
  );
  await expect(failing.append(path, MORE, options)).rejects.toMatchObject({ code });
  expect([edit, create].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
  expect(failing.create).not.toHaveBeenCalled();
});

it.each([
  [15, undefined],
  [16, 'already_exists'],
])('tries 16 times where others create and remove the file: %i times', async (times, code) => {
  let left = times;
  const { append, create } = appending(missing, async () => {
    if (left-- > 0) throw failure('already_exists');
  });
  const outcome = await append(path, MORE, options).then(
    () => undefined,
    (error: MemoryError) => error.code,
  );
  expect(outcome).toBe(code);
  expect(create).toHaveBeenCalledTimes(16);
});

it('lets one append of a path go first, and the others together behind it, be it that it fails', async () => {
  const gates: PromiseWithResolvers<void>[] = [];
  const { append, edit } = appending(
    () => {
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      return gate.promise;
    },
    async () => {},
  );
  const beside = parseMemoryPath('/memories/b');
  const first = append(path, MORE, options);
  const behind = [append(path, Uint8Array.of(5), options), append(path, Uint8Array.of(6), options)];
  void append(beside, MORE, options);
  await new Promise((resolve) => setImmediate(resolve));
  expect(edit.mock.calls.map(([at]) => at)).toEqual([path, beside]);
  const failed = expect(first).rejects.toMatchObject({ code: 'unavailable' });
  gates[0]?.reject(failure('unavailable'));
  await failed;
  await new Promise((resolve) => setImmediate(resolve));
  expect(edit).toHaveBeenCalledTimes(4);
  for (const gate of gates.slice(1)) gate.resolve();
  await Promise.all(behind);
  const late = append(path, MORE, options);
  expect(edit).toHaveBeenCalledTimes(5);
  gates[4]?.resolve();
  await late;
});
