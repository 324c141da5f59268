import type { History } from '../../history/history.ts';
import type { Memory } from '../../tool/memory-tool.ts';
import type { PlanReading } from '../protocol.ts';
import { costed } from './costs.ts';
import { textIn } from './inputs.ts';
import type { Questions } from './questions.ts';

type Input = Readonly<Record<string, unknown>>;
type Outcome = Awaited<ReturnType<History['undo']>>;

/** What would become of the files: `undo` names an actor, or `at` a moment. Nothing is written. */
export function planQuestions(history: History): Questions {
  return {
    plan: costed<PlanReading>(async (input, { signal }) => run(history, input, { signal, dryRun: true })),
  };
}

/** The same, carried out, where the plan is still the one with the digest that is given. */
export function carryOutQuestions({
  open,
  onChanged,
}: {
  readonly open: () => Promise<Memory>;
  readonly onChanged: () => void;
}): Questions {
  return {
    carryOut: costed<PlanReading>(async (input, { signal }) => {
      const { history } = await open();
      const digest = textIn(input, 'digest');
      try {
        return await run(history, input, { signal, digest });
      } finally {
        onChanged();
      }
    }),
  };
}

function run(
  history: History,
  input: Input,
  options: { readonly signal: AbortSignal; readonly dryRun?: true; readonly digest?: string },
): Promise<Outcome> {
  return 'undo' in input
    ? history.undo({ ...options, writer: textIn(input, 'undo') })
    : history.restoreAt(textIn(input, 'at'), { ...options, partial: true });
}
