import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import root from '../../../package.json' with { type: 'json' };
import manifest from './package.json' with { type: 'json' };

const installed = (name: string) =>
  JSON.parse(readFileSync(join('node_modules', name, 'package.json'), 'utf8'));

describe('the packages of the frameworks', () => {
  it.each(Object.entries(manifest.dependencies))('have %s in version %s', (name, version) => {
    expect(installed(name).version).toBe(version);
  });

  it('are no burden of the repository itself', () => {
    const burdens = Object.keys(root.devDependencies).filter((name) => name in manifest.dependencies);
    expect(burdens).toEqual(['@anthropic-ai/sdk']);
  });
});
