import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareHistory } from '../../examples/demo/history.ts';
import { putNpx } from '../support/put-npx.ts';
import { blocksOf } from './pages.ts';

const VENDOR = '/memories/vendors/acme.md';
const PAYMENTS = '/memories/payments.md';

describe('the drill of docs/history.md', { timeout: 120_000 }, () => {
  let folder: string;
  let env: Record<string, string>;
  const names: Record<string, string> = {};

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-drill-'));
    mkdirSync(join(folder, 'bin'));
    putNpx(join(folder, 'bin'));
    env = {
      PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
      HOME: folder,
      SEALED_MEMORY_STORE: `sqlite:${join(folder, 'memory.sqlite')}`,
      SEALED_MEMORY_TENANT: 'acme',
      SEALED_MEMORY_ROOT_KEY: randomBytes(32).toString('base64'),
    };
    await prepareHistory({ env });
  }, 120_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  const sh = async (script: string): Promise<string> =>
    (await promisify(execFile)('sh', ['-ec', script], { cwd: folder, env })).stdout;
  /** Types the block of the page that has these words, with what the reader has seen for the words in capitals. */
  const type = (words: string): Promise<string> => {
    const block = blocksOf('docs/history.md', 'sh').find(({ text }) => text.includes(words));
    if (block === undefined) throw new Error(`the page has no block with ${words}`);
    return sh(
      block.text.replaceAll(/\b(?:FORGED|BEFORE|SPOILT|WEEK|MOMENT)\b/g, (name) => names[name] ?? name),
    );
  };
  /** The versions that a file had, the newest first. */
  const versions = async (path: string): Promise<readonly string[]> =>
    [...(await sh(`npx sealed-memory log ${path}`)).matchAll(/Z {2}(\S{8}) {2}(?:current|replaced)/g)].map(
      ([, version = '']) => version,
    );

  it('leads from the log to what came of it, back, and out', async () => {
    [names['FORGED'] = '', names['BEFORE'] = ''] = await versions(VENDOR);
    [names['SPOILT'] = ''] = await versions(PAYMENTS);
    [names['WEEK'] = ''] = await versions('/memories/week.md');

    const found = await type(`trace ${VENDOR} FORGED   # the turns`);
    const shape = (text: string): string =>
      text.replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, 'TIME').replaceAll(/ {2}[\w-]{8} {2}/g, '  VERSION  ');
    const [told] = blocksOf('docs/history.md', 'text').filter(({ text }) => text.includes('tuesday-3'));
    expect(told).toBeDefined();
    expect(shape(found)).toContain(shape(told?.text ?? ''));

    const log = await sh(`npx sealed-memory log ${VENDOR}`);
    [names['MOMENT'] = ''] = /^\S+/.exec(log) ?? [];
    const planned = await type('restore-at MOMENT');
    expect([...planned.matchAll(/^(?:replace|delete) +\S+/gm)].map(([change]) => change)).toEqual([
      'delete   /memories/notes.md',
      `replace  ${PAYMENTS}`,
      'delete   /memories/todo.md',
      `replace  ${VENDOR}`,
      'delete   /memories/week.md',
    ]);
    expect(planned).toContain('plan  5 changes; nothing was written');
    expect(planned).toContain('\n-Acme: 400 to XX66 6666, at once.\n+Acme: 400 to DE02 1203.\n');

    const mended = await type(`restore ${VENDOR} BEFORE`);
    expect(mended).toContain(`delete   ${VENDOR}`);
    expect(mended).toContain('\n-Acme, hinges. Account DE02 1203.\n+Acme, hinges. NEW account');
    expect(mended).toContain('wrote 3 versions then, 0 of them current');
    expect(await sh(`npx sealed-memory cat ${VENDOR} ${PAYMENTS} /memories/notes.md`)).toBe(
      'Acme, hinges. Account DE02 1203.\nAcme: 400 to DE02 1203.\nThe fair is in May.\n',
    );

    await type(`redact ${VENDOR} FORGED`);
    const forged = [
      [VENDOR, 'FORGED'],
      [PAYMENTS, 'SPOILT'],
      ['/memories/week.md', 'WEEK'],
    ] as const;
    for (const [path, name] of forged) {
      await expect(sh(`npx sealed-memory show ${path} ${names[name]}`)).rejects.toMatchObject({
        stderr: expect.stringContaining('taken out'),
      });
    }
  });
});
