import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { beginWith } from './main.ts';

describe('the API reference', () => {
  it('begins with openMemory, and holds each section once', () => {
    const section = (name: string): string => `### ${name}()\n\ntext of ${name}\n`;
    const page = `# title\n\n## Functions\n\n${['createMemoryPool', 'openAdmin', 'openMemory', 'last'].map(section).join('\n***\n\n')}`;
    const begun = ['openMemory', 'createMemoryPool', 'openAdmin', 'last'].map(section).join('\n***\n\n');
    expect(beginWith('openMemory', page)).toBe(`# title\n\n## Functions\n\n${begun}`);
    expect(beginWith('openMemory', '# title\n\ntext')).toBe('# title\n\ntext');
  });

  it('is made of no star under which values of a module would be shown that cannot be imported', () => {
    for (const target of Object.values(manifest.exports)) {
      if (typeof target === 'string') continue;
      const source = readFileSync(target.types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts'), 'utf8');
      expect(source.match(/^export type \*.*/gm) ?? []).toEqual([]);
    }
  });
});
