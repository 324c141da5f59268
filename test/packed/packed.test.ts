import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { headingsOf, linksOf } from '../docs/pages.ts';
import { filesOf, missingFrom, scriptsAtTheUsers } from './packed-files.ts';

const PATHS = filesOf('pack');
const FOLDERS = new Set(PATHS.flatMap(foldersAbove));

function foldersAbove(path: string): readonly string[] {
  const folder = dirname(path);
  return folder === '.' ? [] : [folder, ...foldersAbove(folder)];
}

describe('the packed file', () => {
  it.each(PATHS.filter((path) => path.endsWith('.md')))('has what %s leads to', (page) => {
    const dead = linksOf(page).filter(({ file, heading }) => {
      const path = join(file.replace(/\/$/, ''));
      if (!PATHS.includes(path) && !FOLDERS.has(path)) return true;
      return heading !== undefined && !headingsOf(path).includes(heading);
    });
    expect(dead).toEqual([]);
  });

  it('tells how to report a fault, and what has changed', () => {
    expect(PATHS).toEqual(expect.arrayContaining(['SECURITY.md', 'CHANGELOG.md', 'LICENSE', 'README.md']));
  });

  it('runs nothing where it is installed, and is built when it is packed', () => {
    expect(scriptsAtTheUsers(manifest.scripts)).toEqual([]);
    expect(manifest.scripts.prepack).toBe('npm run build');
  });

  it('would miss what was not built', () => {
    const unbuilt = PATHS.filter((path) => !path.startsWith('dist/'));
    expect(missingFrom(unbuilt)).toEqual(
      expect.arrayContaining(['dist', 'dist/index.js', 'dist/index.cjs', 'dist/cli/main.cjs']),
    );
    expect(missingFrom(unbuilt.filter((path) => path !== 'SECURITY.md'))).toContain('SECURITY.md');
    expect(missingFrom(unbuilt).filter((path) => !path.startsWith('dist'))).toEqual([]);
  });

  it('would tell of a script at the user’s', () => {
    expect(scriptsAtTheUsers({ test: '', prepare: '', postinstall: '' })).toEqual(['prepare', 'postinstall']);
  });
});
