import { expect, it } from 'vitest';

/** Set by test/runtimes/main.ts: that suites ran elsewhere than it says would prove nothing. */
const [name = 'node', version] = (process.env['TEST_RUNTIME'] ?? '').split(' ').filter((word) => word !== '');

it(`runs in ${name}`, () => {
  const { bun, deno, node } = process.versions;
  expect(bun ? 'bun' : deno ? 'deno' : 'node').toBe(name);
  const found: Readonly<Record<string, string | undefined>> = { bun, deno, node };
  expect(found[name]).toBe(version ?? node);
});
