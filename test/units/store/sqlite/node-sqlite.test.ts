import { afterEach, describe, expect, it, vi } from 'vitest';
import { loadNodeSqlite } from '../../../../src/store/sqlite/node-sqlite.ts';

const WARNING = 'SQLite is an experimental feature and might change at any time';
const { getBuiltinModule } = process;

/** Has the module say this while it is loaded, as Node 22 does, and notes what the process is told. */
function telling(...warnings: readonly (readonly [string, string])[]): readonly unknown[][] {
  const { mock } = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  vi.spyOn(process, 'getBuiltinModule').mockImplementation(((id: string) => {
    for (const warning of warnings) process.emitWarning(...warning);
    return getBuiltinModule(id);
  }) as typeof getBuiltinModule);
  return mock.calls;
}

describe('node:sqlite', () => {
  afterEach(() => vi.restoreAllMocks());

  it('is loaded without the line that calls it experimental, and with every other warning', () => {
    const others = [
      ['SQLite is experimental', 'Warning'],
      ['Type Stripping is an experimental feature', 'ExperimentalWarning'],
    ] as const;
    const told = telling([WARNING, 'ExperimentalWarning'], ...others);
    new (loadNodeSqlite().DatabaseSync)(':memory:').close();
    expect(told).toEqual(others);
  });

  it('leaves the warnings of the process as they were, also where it cannot be loaded', () => {
    const told = telling();
    const before = process.emitWarning;
    loadNodeSqlite();
    expect(process.emitWarning).toBe(before);
    vi.mocked(process.getBuiltinModule).mockImplementation(() => undefined);
    expect(loadNodeSqlite).toThrow('This Node has no node:sqlite, which memory: and sqlite: need:');
    expect(process.emitWarning).toBe(before);
    process.emitWarning(WARNING, 'ExperimentalWarning');
    expect(told).toEqual([[WARNING, 'ExperimentalWarning']]);
  });
});
