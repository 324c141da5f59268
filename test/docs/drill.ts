import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { prepareHistory } from '../../examples/demo/history.ts';
import { putNpx } from '../stage/programs.ts';
import { blocksOf } from './pages.ts';

const VENDOR = '/memories/vendors/acme.md';
const PAYMENTS = '/memories/payments.md';

/**
 * Types the drill of docs/drill.md into a shell, about a memory that is prepared by these settings, and looks at what
 * it shows.
 */
export async function takeDrill(settings: Readonly<Record<string, string>>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-drill-'));
  try {
    mkdirSync(join(folder, 'bin'));
    putNpx(join(folder, 'bin'));
    const env = { PATH: `${join(folder, 'bin')}:${process.env['PATH']}`, HOME: folder, ...settings };
    await prepareHistory({ env });
    await typeAll(folder, env);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function typeAll(folder: string, env: Readonly<Record<string, string>>): Promise<void> {
  const names: Record<string, string> = {};
  const sh = async (script: string): Promise<string> =>
    (await promisify(execFile)('sh', ['-ec', script], { cwd: folder, env })).stdout;
  /** Types the block of the page that has these words, with what the reader has seen for the words in capitals. */
  const type = (words: string): Promise<string> => {
    const block = blocksOf('docs/drill.md', 'sh').find(({ text }) => text.includes(words));
    if (block === undefined) throw new Error(`the page has no block with ${words}`);
    return sh(
      block.text.replaceAll(/\b(?:FORGED|BEFORE|SPOILT|WEEK|TODO|MOMENT)\b/g, (name) => names[name] ?? name),
    );
  };
  /** The versions that a file had, the newest first. */
  const versions = async (path: string): Promise<readonly string[]> =>
    [...(await sh(`npx sealed-memory log ${path}`)).matchAll(/Z {2}(v\S{8}) {2}(?:current|replaced)/g)].map(
      ([, version = '']) => version,
    );

  [names['FORGED'] = '', names['BEFORE'] = ''] = await versions(VENDOR);
  [names['SPOILT'] = ''] = await versions(PAYMENTS);
  [names['WEEK'] = ''] = await versions('/memories/week.md');
  [names['TODO'] = ''] = await versions('/memories/todo.md');

  const found = await type(`trace ${VENDOR} FORGED   # the turns`);
  const shape = (text: string): string =>
    text.replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, 'TIME').replaceAll(/ {2}v[\w-]{8} {2}/g, '  VERSION  ');
  const [told] = blocksOf('docs/drill.md', 'text').filter(({ text }) => text.includes('tuesday-3'));
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
  expect(planned).toMatch(/^delete {3}\/memories\/notes\.md .* by turn tuesday-2 → nothing$/m);
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
    ['/memories/todo.md', 'TODO'],
  ] as const;
  for (const [path, name] of forged) {
    await expect(sh(`npx sealed-memory show ${path} ${names[name]}`)).rejects.toMatchObject({
      stderr: expect.stringContaining('taken out'),
    });
  }
}
