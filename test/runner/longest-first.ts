import { BaseSequencer, type TestSequencer, type TestSpecification, type Vitest } from 'vitest/node';

/** The files of most seconds, the longest first: none of them shall begin when all others have ended. */
export const LONGEST: readonly string[] = [
  'test/kills/writer-at-each-request.test.ts',
  'test/infra/local/cloud.s3.test.ts',
  'test/units/tool/memory-tool.s3.test.ts',
  'test/units/history/change/redact.s3.test.ts',
  'test/pairs/rename-beside-migration.test.ts',
  'test/kills/killed-verbs.test.ts',
  'test/python/python-vectors.test.ts',
  'test/attacks/hostile-operations.s3.test.ts',
  'test/crashes/crashes.s3.test.ts',
  'test/units/store/s3/s3-store.s3.test.ts',
  'test/crashes/races.test.ts',
  'test/crashes/races.s3.test.ts',
  'test/crashes/crashes.test.ts',
  'test/infra/local/main.s3.test.ts',
  'test/units/store/s3/versioned-bucket.s3.test.ts',
  'test/crashes/lifecycle-crashes.test.ts',
  'test/crashes/lifecycle-crashes.s3.test.ts',
  'test/units/page/browser/browser.test.ts',
  'test/end-to-end/faults.s3.test.ts',
  'test/python/python-package.test.ts',
  'test/properties/cost-by-size.test.ts',
  'test/units/page/browser/changes.test.ts',
  'test/units/store/s3/lean-answers.test.ts',
  'test/fuzz/restore.test.ts',
  'test/end-to-end/history-requests.s3.test.ts',
  'test/examples/demo.test.ts',
  'test/simulation/simulation.test.ts',
  'test/seeded-bugs/runs/suites.test.ts',
  'test/seeded-bugs/runs/simulation.test.ts',
  'test/attacks/leaks.s3.test.ts',
  'test/docs/drill.s3.test.ts',
  'test/units/store/s3/lean-requests.test.ts',
  'test/attacks/bucket-writer.s3.test.ts',
  'test/units/store/s3/locked-bucket.s3.test.ts',
  'test/units/tool/memory-tool.exec.test.ts',
  'test/units/tool/memory-tool.library.test.ts',
  'test/units/cli/main.test.ts',
  'test/simulation/crashes.test.ts',
  'test/pairs/operator-beside-history.test.ts',
  'test/attacks/leaks.test.ts',
  'test/units/admin/export/export-tree.s3.test.ts',
  'test/infra/app.test.ts',
  'test/end-to-end/sqlite-faults.test.ts',
];

/** The order of the files: the longest first, then as Vitest has it, the largest first. */
export class LongestFirst implements TestSequencer {
  readonly #usual: TestSequencer;

  constructor(vitest: Vitest) {
    this.#usual = new BaseSequencer(vitest);
  }

  async shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    return this.#usual.shard(files);
  }

  async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = await this.#usual.sort(files);
    const place = ({ moduleId }: TestSpecification): number => {
      const found = LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`));
      return found < 0 ? LONGEST.length : found;
    };
    return [...usual].sort((a, b) => place(a) - place(b));
  }
}
