import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';
import { afterAll, describe, expect, it } from 'vitest';
import { openMemory } from '../../src/open/open-memory.ts';

const INSERTS = Array.from({ length: 50 }, (_, index) => `line ${index}`);
const path = '/memories/shared.md';

describe('what docs/compared.md says of 50 inserts at once into one file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-compared-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const kept = (text: string): number => INSERTS.filter((line) => text.split('\n').includes(line)).length;

  it('is true of this library: all are kept', async () => {
    await using memory = await openMemory({
      store: 'memory:',
      tenant: 'acme',
      rootKey: new Uint8Array(32).fill(1),
    });
    await memory.files.write(path, 'first\n');
    await Promise.all(
      INSERTS.map((line) =>
        memory.execute({ command: 'insert', path, insert_line: 1, insert_text: `${line}\n` }),
      ),
    );
    expect(kept((await memory.files.read(path))?.text() ?? '')).toBe(INSERTS.length);
  });

  it('is true of the SDK’s filesystem tool: hardly any is kept', async () => {
    const tool = await BetaLocalFilesystemMemoryTool.init(folder);
    await tool.create({ command: 'create', path, file_text: 'first\n' });
    await Promise.all(
      INSERTS.map((line) =>
        tool.insert({ command: 'insert', path, insert_line: 1, insert_text: `${line}\n` }),
      ),
    );
    const text = await readFile(join(folder, path), 'utf8');
    expect(kept(text)).toBeGreaterThan(0);
    expect(kept(text)).toBeLessThan(INSERTS.length / 2);
  });
});
