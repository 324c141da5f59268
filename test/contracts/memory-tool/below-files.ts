import { expect, it } from 'vitest';
import { THOROUGH } from '../../runner/thorough.ts';
import { type Contract, type Part, shows } from './contract.ts';
import { type CheckedMemory, type Input, useFilledMemory, useMemory } from './driver.ts';

const FILES = { '/memories/d/f': '1', '/memories/a': '2', '/memories/e/x': '3' };

const create = (path: string): Input => ({ command: 'create', path, file_text: 'text' });

async function refuseCreates(memory: CheckedMemory): Promise<void> {
  await refuseAll(memory, {
    '/memories/d/f/below': create('/memories/d/f/below'),
    '/memories/d/f/far/below/it': create('/memories/d/f/far/below/it'),
  });
}

async function refuseRenames(memory: CheckedMemory): Promise<void> {
  const rename = (old_path: string, new_path: string): Input => ({ command: 'rename', old_path, new_path });
  await refuseAll(memory, {
    '/memories/d/f/below': rename('/memories/a', '/memories/d/f/below'),
    '/memories/d/f/deep/below': rename('/memories/e', '/memories/d/f/deep/below'),
  });
}

/** Every command is refused for a file above its target, and nothing is changed. */
async function refuseAll(memory: CheckedMemory, inputs: Readonly<Record<string, Input>>): Promise<void> {
  const outcomes = await memory.runAll(Object.values(inputs));
  for (const [i, path] of Object.keys(inputs).entries()) {
    expect(outcomes[i]).toMatchObject({ ok: false, code: 'already_exists' });
    expect(outcomes[i]?.content).toMatch(new RegExp(`^Error: .*${path}: .*a file`));
  }
  expect(await memory.dump()).toEqual(FILES);
}

/** A memory whose files grow old while the other cases of the setting run. */
export interface AgingFiles {
  readonly memory: CheckedMemory;
  readonly overwriting: CheckedMemory;
}

/**
 * Writes files when the setting begins. A file younger than 3 s may still be taken back, so that a command below it
 * waits; below one that is older it is refused at once.
 */
export function useAgingFiles({ open, shown }: Pick<Contract, 'open' | 'shown'>): AgingFiles | undefined {
  if (!shows(shown, ['store', 'entry'])) return undefined;
  return {
    memory: useFilledMemory(open, { files: FILES }),
    overwriting: useFilledMemory(open, { files: FILES, onExists: 'overwrite' }),
  };
}

/**
 * The last cases of a setting, when its files have grown old. Below young files each takes 3 s: one does in a usual
 * run.
 */
export function describeBelowFiles({ open, about, memory }: Contract, aged: AgingFiles | undefined): void {
  if (aged !== undefined) {
    about('store')('a place below a file', () => {
      it('is refused to a create, at any depth', () => refuseCreates(aged.memory));
      it('is refused to a rename of a file and of a directory', () => refuseRenames(aged.memory));
    });
    about('store', 'entry')('a place below a file, where create may overwrite', () => {
      it('is refused to a create, at any depth', () => refuseCreates(aged.overwriting));
    });
  }

  const always: Part = THOROUGH ? 'store' : 'language';
  about(always)('a place below a file that was only just created', () => {
    it('is refused to a create, at any depth', async () => {
      await memory.files(FILES);
      await refuseCreates(memory);
    });
  });
  if (!THOROUGH) return;
  about('store')('a place below a file that was only just created, where more is refused', () => {
    it('is refused to a rename of a file and of a directory', async () => {
      await memory.files(FILES);
      await refuseRenames(memory);
    });
  });
  about('store', 'entry')(
    'a place below a file that was only just created, where create may overwrite',
    () => {
      const overwriting = useMemory(open, { onExists: 'overwrite' });
      it('is refused to a create, at any depth', async () => {
        await overwriting.files(FILES);
        await refuseCreates(overwriting);
      });
    },
  );
}
