import { existsSync, globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { LONGEST } from './longest-first.ts';
import { filesThatRunAlone, slowFiles } from './test-files.ts';

describe('slowFiles', () => {
  it('names tests that start processes, be it through other files, and no others', () => {
    const slow = slowFiles();
    expect(slow).toContain('test/end-to-end/sqlite-faults.test.ts');
    expect(slow).toContain('test/units/cli/serve/exec.test.ts');
    expect(slow).toContain('test/units/tool/memory-tool.exec.test.ts');
    for (const file of [
      'test/units/tool/memory-tool.library.test.ts',
      'test/units/tree/rename/rename-file.test.ts',
    ]) {
      expect(slow).not.toContain(file);
    }
  });

  it.each(slowFiles())('leaves out what is there: %s', (path) => {
    expect(globSync(path)).not.toEqual([]);
  });
});

describe('filesThatRunAlone', () => {
  it('names tests that replace modules or global objects, be it through other files, and no others', () => {
    const alone = filesThatRunAlone();
    for (const file of ['test/units/format/randomness.test.ts', 'test/units/worker/turn/turn-span.test.ts']) {
      expect(alone).toContain(file);
    }
    expect(alone).toContain('test/attacks/leaks.test.ts');
    expect(alone).not.toContain('test/units/tool/memory-tool.library.test.ts');
    expect(alone.length).toBeLessThan(40);
  });
});

describe('LONGEST', () => {
  it.each(LONGEST)('names a file that exists: %s', (file) => {
    expect(existsSync(file)).toBe(true);
  });
});
