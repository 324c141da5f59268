import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from '../../../infra/local/programs/find-program.ts';
import { AGE } from '../../../infra/local/programs/pinned.ts';
import { writeArchive } from '../../../src/cli/files/archive.ts';
import { isNotRun } from '../../runner/not-run.ts';

// CI builds it; elsewhere it runs where it is installed.
const age = await findProgram(process.env, AGE);
const missing = { reason: 'age is not installed (Debian: apt-get install age)' };

describe.skipIf(isNotRun('An archive, opened by age', age ?? missing))("Debian's age and tar", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-age-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('open an archive of files of every size and name', async () => {
    if (age === undefined) throw new Error(missing.reason);
    const files = new Map([
      ['a.md', Buffer.from('text\r\n')],
      ['notes/empty', Buffer.alloc(0)],
      [`notes/${'日'.repeat(47)}/${'n'.repeat(143)}`, Buffer.alloc(700_001, 7)],
    ]);
    async function* entries() {
      for (const [name, bytes] of files) yield { name, bytes, modified: new Date(1_700_000_000_000) };
    }
    const identity = await generateX25519Identity();
    const [to, key] = [join(folder, 'archive.age'), join(folder, 'key.txt')];
    const recipients = [await identityToRecipient(identity)];
    await writeArchive(entries(), { to, recipients, force: false, signal: new AbortController().signal });
    writeFileSync(key, `${identity}\n`, { mode: 0o600 });
    const opened = join(folder, 'opened');
    mkdirSync(opened);
    const tar = execFileSync(age.path, ['-d', '-i', key, to], { maxBuffer: 10_000_000 });
    execFileSync('tar', ['-x', '-C', opened], { input: tar });
    for (const [name, bytes] of files) expect(readFileSync(join(opened, name)).equals(bytes)).toBe(true);
  });
});
