import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { LONGEST } from './longest-first.ts';
import { filesAtLength, filesThatRunAlone, repeatedContracts, slowFiles, TAKES_LONG } from './test-files.ts';

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

  it('takes in what is named, unless it starts processes', () => {
    expect(slowFiles()).toContain('test/commands/transcripts.test.ts');
    expect(slowFiles(['test/commands/transcripts'])).not.toContain('test/commands/transcripts.test.ts');
    expect(slowFiles(['test/commands/transcripts'])).toContain('test/commands/forms.test.ts');
    expect(slowFiles(['exec.test'])).toContain('test/units/cli/serve/exec.test.ts');
  });

  it.each(TAKES_LONG)('leaves out what is there: %s', (path) => {
    expect(globSync(path)).not.toEqual([]);
  });
});

describe('what a run at length takes besides', () => {
  const contractsOf = (file: string) =>
    [...readFileSync(file, 'utf8').matchAll(/^import \{([^}]*)\} from '[^']*\/contracts\/[^']*'/gm)]
      .flatMap(([, names = '']) => names.split(','))
      .map((name) => name.trim())
      .filter((name) => name.startsWith('describe'));
  const repeated = repeatedContracts();

  it('names suites that have no test of their own', () => {
    expect(repeated).toContain('test/crashes/crashes.s3.test.ts');
    expect(repeated).toContain('test/units/tool/memory-tool.exec.test.ts');
    expect(repeated).not.toContain('test/units/store/s3/s3-store.s3.test.ts');
    expect(repeated).not.toContain('test/infra/local/cloud.s3.test.ts');
  });

  const atLength = filesAtLength();
  it('names what is there, and each file once', () => {
    expect(atLength).toContain('test/package.test.ts');
    expect(new Set(atLength).size).toBe(atLength.length);
    for (const file of atLength) expect(existsSync(file), file).toBe(true);
  });

  const declaredElsewhere = new Set(
    globSync('test/**/*.test.ts')
      .filter((file) => !atLength.includes(file))
      .flatMap(contractsOf),
  );
  it.each(repeated)('names none whose contract a usual run leaves out: %s', (file) => {
    expect(contractsOf(file)).not.toEqual([]);
    for (const contract of contractsOf(file)) expect(declaredElsewhere).toContain(contract);
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
