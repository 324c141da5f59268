import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openAdmin } from '../../src/open/open-admin.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import { createMemoryPool } from '../../src/open/pool.ts';
import { ALL_PAGES } from './pages.ts';

const KNOWN: ReadonlySet<string> = new Set(
  globSync('{src,infra,bench,examples,test}/**/*.{ts,py}').flatMap(
    (path) => readFileSync(path, 'utf8').match(/\w+/g) ?? [],
  ),
);
/** Here `memory` is the construct of the CDK. */
const OF_A_STACK = 'docs/deployment.md';
/** Between words of a sentence; a long one is an example of bytes. */
const NAME = /\b(?:[a-z]+[A-Z]\w{0,30}|[A-Z][a-z]+[A-Z]\w{0,30})\b/g;
const isBytes = (name: string): boolean => /\d/.test(name) && name.length > 12;

const spansOf = (page: string): readonly string[] =>
  [
    ...readFileSync(page, 'utf8')
      .replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
      .matchAll(/`([^`\n]+)`/g),
  ].map(([, span = '']) => span);

it.each(ALL_PAGES)('%s names functions, options and types that the code has', (page) => {
  const named = spansOf(page)
    .filter((span) => !/[\w-]{30}/.test(span))
    .flatMap((span) => span.match(NAME) ?? []);
  expect(named.filter((name) => !isBytes(name) && !KNOWN.has(name))).toEqual([]);
});

it('the pages name members that a memory, its administration and a pool have', async () => {
  const options = { store: 'memory:', rootKey: new Uint8Array(32).fill(1) };
  const memory = await openMemory({ ...options, tenant: 'acme' });
  const admin = await openAdmin({ ...options, tenant: 'acme' });
  const pool = createMemoryPool(options);
  try {
    const named = ALL_PAGES.filter((page) => page !== OF_A_STACK)
      .flatMap(spansOf)
      .flatMap((span) => /^(?:memory|admin|pool)(?:\.\w+)+/.exec(span)?.[0] ?? []);
    expect(named.length).toBeGreaterThan(30);
    const memberOf = (name: string): unknown =>
      name
        .split('.')
        .reduce((value: unknown, member) => Object(value)[member], { memory, admin, pool } as unknown);
    expect(named.filter((name) => memberOf(name) === undefined)).toEqual([]);
    expect(memberOf('memory.files.reed')).toBeUndefined();
  } finally {
    await memory.close();
    await admin.close();
    await pool.close();
  }
});
