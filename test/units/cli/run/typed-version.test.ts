import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { typedVersion } from '../../../../src/cli/run/typed.ts';
import { shownVersion } from '../../../../src/cli/show/shown.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { openPlace } from '../../../commands/place.ts';
import { CLI_MEMORY_ENV } from '../../../stage/cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-typed-version-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The beginnings of names that a parser of options, or a reader of the v, may take for something else. */
const BEGINNINGS = ['A', '-', '--', 'v', 'vv', 'v-', '-v', '_', '7'];

it.each(BEGINNINGS)('reads a version as it is shown, or whole with a v: %s', (beginning) => {
  const id = beginning.padEnd(22, 'Ab3_x-9');
  expect(typedVersion(shownVersion(id))).toBe(id.slice(0, 8));
  expect(typedVersion(`v${id}`)).toBe(id);
  expect(typedVersion(`v${id.slice(0, 4)}`)).toBe(id.slice(0, 4));
  expect(typedVersion(id)).toBe(id);
});

it.each(['A', '_', '7', '-'])(
  'reads the first characters without a v, which begin with another: %s',
  (first) => {
    for (const length of [4, 8, 21]) {
      const beginning = first.padEnd(length, 'Ab3_x-9');
      expect(typedVersion(beginning)).toBe(beginning);
    }
  },
);

it.each(['vabc', 'v', '', `v${'a'.repeat(23)}`, 'vab c d'])('leaves what names no version: %s', (text) => {
  expect(typedVersion(text)).toBe(text);
});

it('has every command take a version that begins with a dash, as log shows it', {
  timeout: 60_000,
}, async () => {
  const { SEALED_MEMORY_ROOT_KEY: rootKey = '' } = CLI_MEMORY_ENV;
  const store = `sqlite:${join(folder, 'store.sqlite')}`;
  const [path, other] = ['/memories/a.md', '/memories/b.md'];
  let dashed = '';
  {
    await using memory = await openMemory({ store, tenant: 'acme', rootKey, history: { days: 30 } });
    // One name in sixty-four begins so.
    for (let index = 0; !dashed.startsWith('-'); index++) {
      await memory.files.write(path, `text ${index}`);
      const [newest] = await memory.history.list(path, { limit: 1 });
      dashed = newest?.version ?? '';
    }
    await memory.files.write(path, 'the last');
    await memory.files.write(other, 'x');
  }
  using place = openPlace();
  place.set('SEALED_MEMORY_STORE', store);
  const run = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await place.sealedMemory(args, {
      input: new Uint8Array(),
      settings: {},
    });
    return { code, stdout: Buffer.from(stdout).toString(), stderr };
  };
  const shown = shownVersion(dashed);
  expect((await run('log', path)).stdout).toContain(`  ${shown}  replaced`);
  expect(await run('show', path, shown)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^text \d+$/),
  });
  expect(JSON.parse((await run('show', path, `v${dashed}`, '--json')).stdout)).toMatchObject({
    version: dashed,
  });
  expect(await run('diff', path, shown)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`\t${shown}\n`),
  });
  expect(await run('trace', path, shown)).toMatchObject({ code: 0, stdout: expect.stringContaining(shown) });
  expect(await run('restore', path, shown, '--dry-run')).toMatchObject({ code: 0 });
  expect(await run('redact', path, shown, '--dry-run')).toMatchObject({ code: 0 });
  const bare = await run('show', path, dashed);
  expect(bare).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      `a version that begins with a dash is typed with a v before it, v${dashed}.`,
    ),
  });
});
