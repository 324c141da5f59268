import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { writeOwnFile } from '../../../../src/cli/run/own-file.ts';
import { CLI_MEMORY_ENV, runCli } from '../../../stage/cli.ts';
import { CLI_PROGRAM, PROGRAM_ENV } from '../../../stage/programs.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-own-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('writeOwnFile', () => {
  const write = (target: string, content: string) => writeOwnFile(target, (file) => file.writeFile(content));
  const left = () => readdirSync(folder).sort();

  it('refuses a pipe that nobody reads, for which no signal would end the wait', async () => {
    const program = 'mkfifo';
    const pipe = join(folder, 'pipe');
    spawnSync(program, [pipe]);
    await expect(write(pipe, 'new')).rejects.toMatchObject({ code: 'ENXIO' });
  });

  it('writes all to a pipe before its reader sees an end', { timeout: 30_000 }, async () => {
    const pipe = join(folder, 'pipe');
    spawnSync('mkfifo', [pipe]);
    for (let times = 0; times < 20; times++) {
      const reader = spawn('cat', [pipe]);
      const read = text(reader.stdout);
      // Until the reader has opened its end the pipe is refused.
      await vi.waitFor(() => write(pipe, `text ${times}`), { timeout: 5_000, interval: 5 });
      expect(await read).toBe(`text ${times}`);
    }
  });

  it('writes for the owner alone, and replaces what is there', async () => {
    const target = join(folder, 'a');
    writeFileSync(target, 'old', { mode: 0o644 });
    await write(target, 'new');
    expect([readFileSync(target, 'utf8'), statSync(target).mode & 0o777]).toEqual(['new', 0o600]);
    expect(left()).toEqual(['a']);
  });

  it('leaves what is there when the writing fails', async () => {
    const target = join(folder, 'a');
    writeFileSync(target, 'old');
    const failing = writeOwnFile(target, async (file) => {
      await file.writeFile('half');
      throw new Error('the source is gone');
    });
    await expect(failing).rejects.toThrow('the source is gone');
    expect(readFileSync(target, 'utf8')).toBe('old');
    expect(left()).toEqual(['a']);
  });

  it('writes through a link, and to a device', async () => {
    symlinkSync('a', join(folder, 'link'));
    writeFileSync(join(folder, 'a'), 'old');
    await write(join(folder, 'link'), 'new');
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('new');
    await write('/dev/null', 'nothing');
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
    expect(left()).toEqual(['a', 'link']);
  });

  it('takes names as long as the file system does', async () => {
    await write(join(folder, 'n'.repeat(255)), 'x');
    expect(left()).toEqual(['n'.repeat(255)]);
  });

  it('leaves nothing when the process ends in the middle', async () => {
    const script = `
      import { writeOwnFile } from './src/cli/run/own-file.ts';
      await writeOwnFile(${JSON.stringify(join(folder, 'a'))}, async (file) => {
        await file.writeFile('half');
        process.exit(130);
      });`;
    const { status } = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', script]);
    expect(status).toBe(130);
    expect(left()).toEqual([]);
  });
});

describe('a disk without room', { timeout: 180_000 }, () => {
  /**
   * The command line where no file may grow beyond so many blocks of 512 bytes: the last write takes a part of its
   * bytes.
   */
  async function runWithin(blocks: number, args: readonly string[], env: Readonly<Record<string, string>>) {
    const limited = `trap '' XFSZ; ulimit -f ${blocks}; exec "$@"`;
    const child = spawn('sh', ['-c', limited, 'sh', process.execPath, CLI_PROGRAM, ...args], {
      env: { ...PROGRAM_ENV, ...env, NODE_DISABLE_COMPILE_CACHE: '1', HOME: folder },
    });
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    return { code, stdout, stderr };
  }

  it('is told in one line by get and export, which leave no half file', async () => {
    const env = { ...CLI_MEMORY_ENV, SEALED_MEMORY_STORE: `sqlite:${join(folder, 'store.sqlite')}` };
    // The archive has one whole part of 64 KiB, and the limit lies in the second.
    const bytes = randomBytes(100_000);
    await runCli(['put', '/memories/a'], { env, input: bytes });
    const recipient = await identityToRecipient(await generateX25519Identity());
    const [there, out] = [join(folder, 'there'), join(folder, 'out')];
    writeFileSync(there, 'old');
    const calls: readonly (readonly [args: readonly string[], file: string])[] = [
      [['get', '/memories/a', join(folder, 'a')], join(folder, 'a')],
      [['get', '--force', '/memories/a', there], there],
      [['export', '--age', recipient, join(folder, 'age')], join(folder, 'age')],
    ];
    for (const [args, file] of calls) {
      expect(await runWithin(180, args, env)).toEqual({
        code: 1,
        stdout: '',
        stderr: `sealed-memory: ${file} cannot be written (EFBIG).\n`,
      });
    }
    expect(await runWithin(180, ['export', out], env)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^FAIL {2}\/memories\/a cannot be written \(EFBIG\)\nFAIL {2}0 files .*\n$/,
      ),
    });
    expect(readdirSync(out)).toEqual([]);
    expect(readFileSync(there, 'utf8')).toBe('old');
    expect(readdirSync(folder).filter((name) => !name.startsWith('store.'))).toEqual(['out', 'there']);
    expect(existsSync(join(folder, 'age'))).toBe(false);
    await runWithin(250, ['get', '--force', '/memories/a', there], env);
    expect(readFileSync(there).equals(bytes)).toBe(true);
  });
});
