import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { expect } from 'vitest';
import { findProgram } from '../../infra/local/programs/find-program.ts';
import { AGE } from '../../infra/local/programs/pinned.ts';
import { putNpx } from '../stage/programs.ts';
import { blocksOf } from './pages.ts';

/** The text that a block printed, on both streams as they came, and how its last line ended. */
interface Typed {
  readonly code: number;
  readonly shown: string;
}

/** Types the tour of docs/command-line.md into a shell in an empty folder, and looks at what it shows. */
export async function takeTour(settings: Readonly<Record<string, string>>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-tour-'));
  try {
    await typeAll(folder, settings);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function typeAll(folder: string, settings: Readonly<Record<string, string>>): Promise<void> {
  const program = (name: string, lines: string): void =>
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
  const home = join(folder, 'home');
  for (const name of ['bin', 'home']) await run('mkdir', [name], { cwd: folder });
  putNpx(join(folder, 'bin'));
  const identity = await generateX25519Identity();
  program(
    'age-keygen',
    `if [ "$1" = -o ]; then echo ${identity} > "$2"; else echo ${await identityToRecipient(identity)}; fi`,
  );
  const age = await findProgram(process.env, AGE);
  if (age !== undefined) symlinkSync(age.path, join(folder, 'bin', 'age'));

  const type = (line: string): Promise<Typed> => {
    const block = blocksOf('docs/command-line.md', 'sh').find(({ text }) => text.includes(line));
    if (block === undefined) throw new Error(`the page has no block with ${line}`);
    return run('sh', ['-c', `exec 2>&1\n${block.text}`], {
      cwd: home,
      env: {
        PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
        HOME: folder,
        ...settings,
      },
    });
  };

  const made = await type('sealed-memory init');
  expect(made.shown).toContain('ok    2 files written to /memories\n');
  expect(made.shown).toMatch(/^ +21 {2}\S+Z {2}customers\/acme\.md$/m);
  expect(made.shown).toContain('/memories/plan.md:1:Kestrel is the launch in May.\n');
  expect(made.shown).toContain('ok    21 bytes appended to /memories/plan.md, which has 51 bytes now\n');
  expect(made.shown).toMatch(/\n\+And a party in June\.\n$/);

  const guarded = await type('--policy secrets');
  expect(guarded.shown).toMatch(/^sealed-memory: .*email.*\nsealed-memory: .*read.only.*\n$/i);
  expect(guarded.shown).not.toContain('ada@');

  const mounted = await type('--mount');
  expect(mounted.code).toBe(0);
  expect(mounted.shown).toMatch(/├── handbook\/\n│ {3}└── rules\.md\n/);
  expect(mounted.shown).toMatch(/Short mails, no jargon\.$/);

  // CI builds age; elsewhere its part runs where it is installed.
  if (age === undefined && process.env['CI'] !== 'true') return;
  const opened = await type('age-keygen');
  expect(opened).toMatchObject({ code: 0, shown: expect.stringMatching(/\nthe same\n$/) });
  expect(opened.shown).toContain('ok    2 files in memory.tar.age, for 1 recipient\n');
  expect((await run('cat', ['opened/plan.md'], { cwd: home })).shown).toBe(
    'Kestrel is the launch in May.\nAnd a party in June.\n',
  );
}

function run(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<Typed> {
  return new Promise((done) => {
    execFile(program, args, options, (error, shown) =>
      done({ code: error === null ? 0 : Number(error.code), shown }),
    );
  });
}
