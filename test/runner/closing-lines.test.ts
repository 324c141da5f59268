import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Vitest } from 'vitest/node';
import type { S3Server } from '../../infra/local/servers/s3-server.ts';
import { ClosingLines, closingLines, leftOutLines, type RunSummary, seedLines } from './closing-lines.ts';
import { isNotRun } from './not-run.ts';

const minio: S3Server = {
  name: 'minio',
  endpoint: 'http://127.0.0.1:9000',
  region: 'us-east-1',
  accessKeyId: 'id',
  secretAccessKey: 'secret',
  version: 'RELEASE.X',
  how: 'binary on PATH',
};
const summary: RunSummary = { passed: 7, failed: 0, skipped: 1, s3: 3 };
const located = {
  servers: [minio],
  outcome: { notes: [], fails: false },
  everyTestWanted: true,
  inCi: false,
};

describe('seedLines', () => {
  it('name the seed of a run in which something failed, and of no other', () => {
    expect(seedLines({ ...summary, failed: 1 }, '7')).toEqual([
      'Drawn with TEST_SEED=7, which repeats the draws.',
    ]);
    expect(seedLines(summary, '7')).toEqual([]);
  });
});

describe('leftOutLines', () => {
  it('tell how many suites a run left out, where it did', () => {
    expect(leftOutLines(0)).toEqual([]);
    expect(leftOutLines(9)).toEqual([
      '9 suites are left to CI and to TEST_THOROUGH=1; test/runner/test-files.ts says which and why.',
    ]);
  });
});

describe('a suite that cannot run', () => {
  const here = { reason: 'moto is not installed' };
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  /** Runs a suite that stands on `found`, and answers what the last lines of its run say, and whether it is skipped. */
  function runOn(found: object): { readonly isSkipped: boolean; readonly last: string } {
    const reporter = new ClosingLines({ leftOut: 0 });
    reporter.onInit({ config: { watch: true } } as Vitest);
    const said = vi.spyOn(console, 'log').mockImplementation((line) => {
      const content = `${line}\nKMS: of something else\n`;
      // Each file of a suite says the same.
      for (const _ of ['a.test.ts', 'b.test.ts']) {
        reporter.onUserConsoleLog({ content, type: 'stdout', browser: false, time: 0, size: 0 });
      }
    });
    const written: string[] = [];
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
    const isSkipped = isNotRun('KMS on moto', found);
    reporter.onTestRunEnd([], []);
    said.mockRestore();
    vi.mocked(process.stdout.write).mockRestore();
    return { isSkipped, last: written.join('') };
  }

  it('is skipped, and named with the reason in the last lines, once', () => {
    vi.stubEnv('CI', '');
    expect(runOn(here)).toEqual({
      isSkipped: true,
      last: 'KMS on moto did NOT RUN: moto is not installed\n0 passed, 0 failed, 0 skipped\n',
    });
  });

  it('fails in CI', () => {
    vi.stubEnv('CI', 'true');
    expect(() => isNotRun('KMS on moto', here)).toThrow('KMS on moto cannot run: moto is not installed');
  });

  it('runs, and is not mentioned, where nothing is missing', () => {
    vi.stubEnv('CI', 'true');
    expect(runOn({ endpoint: 'http://127.0.0.1:5000' })).toEqual({
      isSkipped: false,
      last: '0 passed, 0 failed, 0 skipped\n',
    });
  });
});

describe('closingLines', () => {
  it('ends with the counts alone on a line when nothing of S3 was asked for', () => {
    const closing = closingLines(summary, { ...located, servers: [], outcome: undefined });
    expect(closing).toEqual({ lines: ['7 passed, 0 failed, 1 skipped'], fails: false });
  });

  it('names the server, its version, how it was obtained and how many tests ran on it', () => {
    expect(closingLines(summary, located)).toEqual({
      lines: ['S3: MinIO RELEASE.X (binary on PATH): 3 tests ran on S3', '7 passed, 0 failed, 1 skipped'],
      fails: false,
    });
  });

  it('says last of all that the S3 suites did not run', () => {
    const outcome = { notRun: 'start Docker', notes: [], fails: false };
    const closing = closingLines({ ...summary, s3: 0 }, { ...located, servers: [], outcome });
    expect(closing.lines.at(-1)).toBe('S3 suites NOT RUN: start Docker');
    expect(closing.fails).toBe(false);
  });

  it('fails a run without a server where one is required', () => {
    const outcome = { notRun: 'start Docker', notes: [], fails: true };
    expect(closingLines(summary, { ...located, servers: [], outcome }).fails).toBe(true);
  });

  it('fails a run in which a server was there and no test ran on it', () => {
    expect(closingLines({ ...summary, s3: 0 }, located).fails).toBe(true);
  });

  it('fails a run of CI in which a test was skipped, and says so', () => {
    for (const outcome of [undefined, located.outcome]) {
      const closing = closingLines(summary, { ...located, outcome, inCi: true });
      expect(closing.lines).toContain('Tests were skipped; with CI=true that is a failure.');
      expect(closing.lines.at(-1)).toBe('7 passed, 0 failed, 1 skipped');
      expect(closing.fails).toBe(true);
      expect(closingLines({ ...summary, skipped: 0 }, { ...located, outcome, inCi: true }).fails).toBe(false);
      const narrowed = { ...located, outcome, inCi: true, everyTestWanted: false };
      expect(closingLines(summary, narrowed).fails).toBe(false);
    }
  });

  it('does not expect S3 tests of a run that was narrowed to some titles', () => {
    expect(closingLines({ ...summary, s3: 0 }, { ...located, everyTestWanted: false }).fails).toBe(false);
  });

  it('repeats why a second server was not there', () => {
    const outcome = { notes: ['VersityGW was not there'], fails: true };
    const closing = closingLines(summary, { ...located, outcome });
    expect(closing.lines[0]).toBe('S3: VersityGW was not there');
    expect(closing.fails).toBe(true);
  });
});
