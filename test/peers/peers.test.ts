import { existsSync, globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import hosts from '../units/hosts/package.json' with { type: 'json' };
import { OLDEST } from './oldest.ts';
import config from './vitest.config.ts';

const RANGES = Object.entries(manifest.peerDependencies);

/** The first version that a range names, with zeros for what it leaves out. */
function floorOf(range: string): string {
  const [, version = ''] = /^\D*([\d.]+)/.exec(range) ?? [];
  return [...version.split('.'), '0', '0'].slice(0, 3).join('.');
}

describe('the peers of the package', () => {
  it.each(RANGES)('have %s, from %s on, in its oldest version in a project', (name, range) => {
    expect(OLDEST.map(({ dependencies }) => dependencies[name])).toContain(floorOf(range));
  });

  it.each(RANGES)('have %s in an exact version here, for %s', (name) => {
    const pinned: Readonly<Record<string, string>> = { ...manifest.devDependencies, ...hosts.dependencies };
    expect(pinned[name]).toMatch(/^\d+\.\d+\.\d+$/);
  });

  it('are all optional', () => {
    const meta: Readonly<Record<string, { readonly optional: boolean }>> = manifest.peerDependenciesMeta;
    expect(RANGES.map(([name]) => name).filter((name) => meta[name]?.optional !== true)).toEqual([]);
  });

  it('have a lock file in each project', () => {
    for (const { folder } of OLDEST) expect(existsSync(`${folder}/package-lock.json`)).toBe(true);
  });

  it('have suites for their oldest versions', () => {
    const patterns = config.test?.include ?? [];
    expect(patterns.filter((pattern) => globSync(pattern).length === 0)).toEqual([]);
  });
});
