import { describe, expect, it } from 'vitest';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { createTree } from '../../../src/tree/tree.ts';
import { type Chance, createChance } from '../../simulation/chance.ts';
import { memoryOf } from '../../stage/client-memory.ts';
import { createSite, type StoreKind, TRIED_KINDS } from '../../stage/test-tree.ts';

const NAMES = ['a', 'b', 'c'];
const COMMANDS = 500;

/** Short, so that files are often asked for above and below others. */
function drawPath(chance: Chance): string {
  const names = Array.from({ length: chance.between(1, 3) }, () => chance.pick(NAMES));
  return `/memories/${names.join('/')}`;
}

function drawCommand(chance: Chance): Record<string, unknown> {
  const path = drawPath(chance);
  switch (chance.pick(['create', 'create', 'create', 'insert', 'delete', 'rename', 'view'] as const)) {
    case 'create':
      return { command: 'create', path, file_text: 'text\n' };
    case 'insert':
      return { command: 'insert', path, insert_line: 0, insert_text: 'more' };
    case 'delete':
      return { command: 'delete', path };
    case 'rename':
      return { command: 'rename', old_path: path, new_path: drawPath(chance) };
    case 'view':
      return { command: 'view', path };
  }
}

describe.each(TRIED_KINDS)('the only process of a tenant, on a(n) %s store', (kind: StoreKind) => {
  /** A memory whose pauses are counted, by the milliseconds that were asked for. */
  async function start(): Promise<{ memory: Memory; pauses: number[] }> {
    const site = await createSite(kind);
    const { tenant } = await (await site.client()).open();
    const pauses: number[] = [];
    const tree = createTree({
      ...tenant,
      pause(ms, signal) {
        pauses.push(ms);
        return tenant.pause(ms, signal);
      },
    });
    const memory = memoryOf({ tree, tenant }, { onClose: async () => site.base[Symbol.asyncDispose]() });
    return { memory, pauses };
  }

  it.each([1, 2, 3])(`waits for none of its own files: ${COMMANDS} commands, seed %i`, async (seed) => {
    const chance = createChance(`own files ${seed}`);
    const { memory, pauses } = await start();
    const refusals: unknown[] = [];
    for (let left = COMMANDS; left > 0; left--) {
      const result = await memory.execute(drawCommand(chance));
      if (result.isError) refusals.push(result.error.details['reason'] ?? result.error.code);
    }
    expect(pauses).toEqual([]);
    // There were files of its own above what it was to create.
    expect(refusals.filter((reason) => reason === 'below_file').length).toBeGreaterThan(10);
    await memory.close();
  });
});
