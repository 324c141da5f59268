import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runImport } from '../../../src/cli/files/import.ts';
import { helpOnOptions } from '../../../src/cli/program/help.ts';
import { createProgram } from '../../../src/cli/program/program.ts';
import type { Flags } from '../../../src/cli/run/invocation.ts';
import { openMemory } from '../../../src/index.ts';
import { invocationOf } from '../../doubles/invocation.ts';
import { CLI_MEMORY_ENV, runCli } from '../../support/cli.ts';
import { type KeptMemory, openKeptMemory } from '../../support/kept-memory.ts';

const MOUNTED = ['/memories/drafts=drafts', '/memories/org=org:ro'];
const WARNING =
  /warning: This memory is read-only, and takes writes below a mount that is not, of drafts: .* or :ro\.\n/;

let kept: KeptMemory;
let from: string;
beforeAll(async () => {
  kept = await openKeptMemory();
  from = mkdtempSync(join(tmpdir(), 'sealed-memory-mounts-'));
  writeFileSync(join(from, 'a.md'), 'one\n');
});
afterAll(async () => {
  await kept.remove();
  rmSync(from, { recursive: true });
});

describe('a mount that takes writes beside --read-only', () => {
  const importTo = async (path: string, flags: Flags) => {
    const { invocation, shown } = invocationOf({ flags: { ...kept.flags, readOnly: true, ...flags } });
    return { code: await runImport({ from, path }, {}, invocation), text: shown.join('') };
  };

  it('is warned of in words, and --quiet leaves the warning', async () => {
    for (const more of [[], ['--quiet']]) {
      const flags = ['--read-only', ...more, ...MOUNTED.flatMap((mount) => ['--mount', mount])];
      const { code, stderr } = await runCli(['ls', ...flags], { env: CLI_MEMORY_ENV });
      expect([code, stderr]).toEqual([0, expect.stringMatching(WARNING)]);
      expect(stderr).not.toContain('mounts=');
    }
  });

  it('takes an import', async () => {
    const { code, text } = await importTo('/memories/drafts/x', { mount: MOUNTED });
    expect([code, text]).toEqual([0, 'ok    1 file written to /memories/drafts/x\n']);
    const rootKey = Buffer.alloc(32, 7).toString('base64');
    await using drafts = await openMemory({ store: kept.flags.store, tenant: 'drafts', rootKey });
    expect((await drafts.files.read('/memories/x/a.md'))?.text()).toBe('one\n');
  });

  it.each(['/memories', '/memories/draft', '/memories/org'])(
    'is named where an import goes elsewhere: %s',
    async (path) => {
      await expect(importTo(path, { mount: MOUNTED })).rejects.toMatchObject({
        code: 'read_only',
        message:
          'This memory can be read only; nothing was imported. It takes files below /memories/drafts: name that behind the folder.',
      });
      await expect(importTo(path, {})).rejects.toMatchObject({
        message: 'This memory can be read only; nothing was imported.',
      });
    },
  );
});

describe('a wrong mount', () => {
  it.each(['/memories/a=Org', '/memories/a=org:rw', '/memories/a=org:expires=no'])(
    'is refused by the name that was typed: %s',
    async (mount) => {
      for (const verb of ['ls', 'tenants']) {
        const typed = await runCli([verb, '--mount', mount], { env: CLI_MEMORY_ENV });
        expect(typed.code).toBe(2);
        expect(typed.stderr).toContain('--mount takes a path, = and a tenant');
        expect(typed.stderr).not.toContain('SEALED_MEMORY_MOUNTS');
      }
      const env = { ...CLI_MEMORY_ENV, SEALED_MEMORY_MOUNTS: mount };
      expect((await runCli(['ls'], { env })).stderr).toContain('SEALED_MEMORY_MOUNTS takes a path');
    },
    60_000,
  );

  it('is not needed: the help shows each form', () => {
    const help = helpOnOptions(createProgram(() => {}));
    expect(help.replace(/\s+/g, ' ')).toContain(':expires=false or :expires=true');
  });
});
