import { appendFile } from 'node:fs/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import type { MemoryResult } from '../../../src/index.ts';
import { openWatch } from '../../../src/open/events.ts';

vi.mock('node:fs/promises', async (load) => ({ ...(await load<object>()), appendFile: vi.fn() }));

describe('events that wait for their file', () => {
  it('are kept up to a mebibyte and one event more; of the others one warning tells', async () => {
    const written: string[] = [];
    const first = Promise.withResolvers<void>();
    vi.mocked(appendFile).mockImplementation(async (_, lines) => {
      written.push(String(lines));
      if (written.length === 1) await first.promise;
    });
    const warn = vi.fn();
    const logger = { debug: () => {}, info: () => {}, warn, error: () => {} };
    const settings = { onEvent: 'never/made.jsonl', eventPaths: false } as const;
    const watch = openWatch(settings, { tenant: 'acme', logger });
    const execute = watch?.execute(async () => ({ isError: false }) as MemoryResult, 'x'.repeat(64));
    for (let call = 0; call < 6_000; call++) await execute?.({ command: 'view', path: '/memories' });
    await turn();
    expect(written).toHaveLength(1);
    first.resolve();
    await turn();
    expect(written).toHaveLength(2);
    const lines = written[1] ?? '';
    expect(lines.length).toBeGreaterThan(1_048_576);
    expect(lines.lastIndexOf('\n', lines.length - 2) + 1).toBeLessThanOrEqual(1_048_576);
    expect(warn).toHaveBeenCalledOnce();
    await execute?.({ command: 'view', path: '/memories' });
    await turn();
    expect(written).toHaveLength(3);
  });

  it('follow one another, whichever memories of the process they are of and however the file is spelt', async () => {
    const written: string[] = [];
    const first = Promise.withResolvers<void>();
    vi.mocked(appendFile).mockImplementation(async (_, lines) => {
      written.push(String(lines));
      if (written.length === 1) await first.promise;
    });
    const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const spellings = [
      'never/shared.jsonl',
      'never/../never/shared.jsonl',
      `${process.cwd()}/never/shared.jsonl`,
    ];
    for (const [index, onEvent] of spellings.entries()) {
      const watch = openWatch({ onEvent, eventPaths: false }, { tenant: `tenant-${index}`, logger });
      await watch?.execute(async () => ({ isError: false }) as MemoryResult, 'a')({ command: 'view' });
      await turn();
    }
    expect(written).toHaveLength(1);
    first.resolve();
    await turn();
    const tenants = written.map((lines) =>
      lines
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).tenant),
    );
    expect(tenants).toEqual([['tenant-0'], ['tenant-1', 'tenant-2']]);
  });
});
