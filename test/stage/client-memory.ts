// Loads now what is otherwise loaded at its first use: virtual time would pass meanwhile.
import '../../src/history/change/redact.ts';
import '../../src/history/history.ts';
import '../../src/language/sentences.ts';
import { openHistory, openSessions } from '../../src/open/wire-tenant.ts';
import '../../src/sessions/sessions.ts';
import '../../src/tool/answer-made.ts';
import { createCommandOrder } from '../../src/tool/command-order.ts';
import { createMemory, type Memory, type MemoryToolOptions } from '../../src/tool/memory-tool.ts';
import '../../src/tree/was-made.ts';
import { silentLogger } from './silent-logger.ts';
import type { TestClient } from './test-tree.ts';

/** Makes the memory of one process over its tree, or over another tree of its tenant. */
export function memoryOf(
  { tree, tenant }: Pick<TestClient, 'tree' | 'tenant'>,
  options: Partial<Pick<MemoryToolOptions, 'actor' | 'onClose'>> = {},
): Memory {
  return createMemory({
    tree,
    order: createCommandOrder(),
    createSessions: (run) => openSessions(tenant, run),
    createHistory: (run) => openHistory(run, { context: tenant, tree }),
    wording: 'doc',
    onExists: 'error',
    maxFileBytes: tenant.maxFileBytes,
    logger: silentLogger,
    onClose: async () => {},
    ...options,
  });
}
