import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type * as files from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { openFile } from '../../../src/store/folder-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-replaced-'));
const path = join(folder, 'file');
afterAll(() => rmSync(folder, { recursive: true }));

/** Between the look at a place and its opening. */
let meanwhile = (): void => {};
vi.mock('node:fs/promises', async (load) => {
  const real = await load<typeof files>();
  return {
    ...real,
    open: (...given: Parameters<typeof files.open>) => {
      meanwhile();
      return real.open(...given);
    },
  };
});

it('a file that becomes a folder while it is opened is refused', async () => {
  writeFileSync(path, 'text');
  meanwhile = () => {
    rmSync(path);
    mkdirSync(path);
  };
  await expect(openFile(folder, ['file'])).rejects.toMatchObject({ code: 'access_denied' });
});

it('a file that is gone when it is opened is not there', async () => {
  rmSync(path, { recursive: true });
  writeFileSync(path, 'text');
  meanwhile = () => rmSync(path);
  expect(await openFile(folder, ['file'])).toBeUndefined();
});
