import { describe } from 'vitest';
import { describeBelowFiles, useAgingFiles } from './memory-tool/below-files.ts';
import { describeBytes } from './memory-tool/bytes.ts';
import { describeConcurrency } from './memory-tool/concurrency.ts';
import { type Contract, casesAbout, type Part } from './memory-tool/contract.ts';
import { describeCreate } from './memory-tool/create.ts';
import { describeDelete } from './memory-tool/delete.ts';
import { describeDirectoryViews } from './memory-tool/directory-views.ts';
import { type OpenDriver, useMemory } from './memory-tool/driver.ts';
import { describeFileViews } from './memory-tool/file-views.ts';
import { describeInputs } from './memory-tool/inputs.ts';
import { describeInsert } from './memory-tool/insert.ts';
import { describeLimits } from './memory-tool/limits.ts';
import { describeManyFiles } from './memory-tool/many-files.ts';
import { describePaging } from './memory-tool/paging.ts';
import { describePaths } from './memory-tool/paths.ts';
import { describeRename } from './memory-tool/rename.ts';
import { describeSdkWording } from './memory-tool/sdk-wording.ts';
import { describeStrReplace } from './memory-tool/str-replace.ts';

export interface MemoryToolSuite {
  /** The parts of the contract that this setting shows; one setting at least shows `language`. */
  readonly shows: readonly Part[];
  /** How names are stored. Default `encrypted`. */
  readonly names?: 'encrypted' | 'plain';
  /** Two drivers of one tenant work on the same files. */
  readonly shared?: boolean;
  /** Files of a large directory. */
  readonly manyFiles: number;
}

/** Describes what the memory tool answers, to the byte, whatever store and entry point lie behind it. */
export function describeMemoryTool(name: string, openDriver: OpenDriver, suite: MemoryToolSuite): void {
  describe(`the memory tool through ${name}`, () => {
    const open: OpenDriver = (options) => openDriver({ names: suite.names ?? 'encrypted', ...options });
    const contract: Contract = {
      memory: useMemory(open),
      open,
      shown: suite.shows,
      about: casesAbout(suite.shows),
      names: suite.names ?? 'encrypted',
      shared: suite.shared === true,
      manyFiles: suite.manyFiles,
    };
    const aging = useAgingFiles(contract);
    describeDirectoryViews(contract);
    describeFileViews(contract);
    describePaging(contract);
    describeCreate(contract);
    describeStrReplace(contract);
    describeInsert(contract);
    describeDelete(contract);
    describeRename(contract);
    describePaths(contract);
    describeInputs(contract);
    describeBytes(contract);
    describeLimits(contract);
    describeConcurrency(contract);
    describeManyFiles(contract);
    describeSdkWording(contract);
    describeBelowFiles(contract, aging);
  });
}
