import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { ClosingLines } from '../support/closing-lines.ts';

/** What touches a peer, but for what takes long and would say the same. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    reporters: ['default', new ClosingLines()],
    include: [
      'test/agent/**/*.test.ts',
      'test/cdk/**/*.test.ts',
      'test/cli/mcp-*.test.ts',
      'test/hosts/{ai-sdk,claude-agent-sdk,langchain,mastra,openai-agents,unstorage}.test.ts',
      'test/keys/kms-root-key{,.moto}.test.ts',
      'test/mcp/**/*.test.ts',
      'test/policy/**/*.test.ts',
      'test/tool/memory-tool-runner.test.ts',
      'test/worker/{direct-handler,expire-tenants,expiry-queue,queue-records,replies,sqs-handler,tenant-credentials}.test.ts',
      'test/worker/{trace,turn-span,turn-trace,worker}.test.ts',
    ],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
