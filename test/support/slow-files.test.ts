import { expect, it } from 'vitest';
import { slowFiles } from './slow-files.ts';

it('leaves tests out of the quick run that start processes, be it through other files, and no others', () => {
  const slow = slowFiles();
  expect(slow).toContain('test/end-to-end/sqlite-faults.test.ts');
  expect(slow).toContain('test/cli/exec.test.ts');
  expect(slow).toContain('test/tool/memory-tool.exec.test.ts');
  for (const file of ['test/tool/memory-tool.library.test.ts', 'test/tree/rename/rename-file.test.ts']) {
    expect(slow).not.toContain(file);
  }
});
