import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { ClosingLines } from '../runner/closing-lines.ts';

/** Runs the tests that touch a peer, except those that take long and would say the same. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    reporters: ['default', new ClosingLines({ leftOut: 0 })],
    include: [
      'test/units/agent/**/*.test.ts',
      'test/units/cdk/**/*.test.ts',
      'test/units/cli/serve/mcp-*.test.ts',
      'test/units/hosts/{ai-sdk,claude-agent-sdk,langchain,mastra,openai-agents,unstorage}.test.ts',
      'test/units/keys/kms/kms-root-key{,.moto}.test.ts',
      'test/units/open/tenant-table{,.moto}.test.ts',
      'test/units/mcp/**/*.test.ts',
      'test/units/policy/**/*.test.ts',
      'test/units/tool/memory-tool-runner.test.ts',
      'test/units/worker/**/{direct-handler,expiry-queue,queue-records,replies,sqs-handler,tenant-credentials}.test.ts',
      'test/units/{worker,turns}/**/{trace,turn-span,turn-trace,worker}.test.ts',
    ],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
