import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'vitest';
import { takeDrill } from './drill.ts';

it('the drill of docs/drill.md leads from the log to what came of it, back, and out', {
  timeout: 300_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-drill-store-'));
  try {
    await takeDrill({
      SEALED_MEMORY_STORE: `sqlite:${join(folder, 'memory.sqlite')}`,
      SEALED_MEMORY_TENANT: 'acme',
      SEALED_MEMORY_ROOT_KEY: randomBytes(32).toString('base64'),
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
