import type { History } from '../../history/history.ts';
import { MEMORY_ROOT, type MemoryPath } from '../../language/path.ts';
import type { Memory } from '../../tool/memory-tool.ts';
import type { CallOptions } from '../../tree/tenant.ts';
import { type Answerers, progressTo } from './answer-questions.ts';
import type { FieldsOf } from './read-fields.ts';

/** Plans: `undo` names an actor, `at` a moment. Nothing is written. */
export function answerPlan(history: History): Answerers {
  return {
    plan: (fields, asking) =>
      run(history, fields, { signal: asking.signal, onProgress: progressTo(asking), dryRun: true }),
  };
}

/** Carries a plan out where it is still the one with the digest that is given. */
export function answerCarryOut({
  open,
  onChanged,
}: {
  readonly open: () => Promise<Memory>;
  readonly onChanged: (paths: readonly MemoryPath[]) => void;
}): Answerers {
  return {
    async carryOut({ digest, ...fields }, { signal }) {
      const { history } = await open();
      try {
        return await run(history, fields, { signal, digest });
      } finally {
        onChanged([MEMORY_ROOT]);
      }
    },
  };
}

function run(
  history: History,
  fields: FieldsOf<'plan'>,
  options: Pick<CallOptions, 'signal' | 'onProgress'> & { readonly dryRun?: true; readonly digest?: string },
): ReturnType<History['undo']> {
  return 'undo' in fields
    ? history.undo({ ...options, writer: fields.undo })
    : history.restoreAt(fields.at, { ...options, partial: true });
}
