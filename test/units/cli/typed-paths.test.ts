import { describe, expect, it } from 'vitest';
import { typedMounts, typedPath } from '../../../src/cli/run/typed.ts';

describe('a path that a person typed', () => {
  it('begins at /memories, whatever lies in the current folder', () => {
    const forms = [
      'notes/a.md',
      './notes/a.md',
      'memories/notes/a.md',
      '//memories/notes/a.md',
      'notes//./a.md/',
    ];
    expect(forms.map(typedPath)).toEqual(forms.map(() => '/memories/notes/a.md'));
    expect(['.', './', 'memories', '/memories/', '//memories'].map(typedPath)).toEqual(
      Array.from({ length: 5 }, () => '/memories'),
    );
    expect(typedPath('/memories/memories/a')).toBe('/memories/memories/a');
    expect(['', '/', '/etc/passwd', '/memoriesx'].map(typedPath)).toEqual([
      '',
      '/',
      '/etc/passwd',
      '/memoriesx',
    ]);
    expect(typedMounts('handbook=org:ro,/memories/team=team-7')).toEqual([
      '/memories/handbook=org:ro,/memories/team=team-7',
    ]);
  });
});
