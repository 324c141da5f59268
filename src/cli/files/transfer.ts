import { hasCode, isForTheOperator, MemoryError } from '../../errors.ts';
import { type RedactedRule, sumRules } from '../../tool/redactions.ts';
import { EXIT_FAILED, type Invocation } from '../run/invocation.ts';
import { eachAhead } from '../run/memory.ts';
import { createRefusals } from '../run/refusals.ts';
import type { StateFields } from '../run/tenant-state.ts';
import { redactedWords, redactionLines } from '../show/redaction-lines.ts';
import { counted } from '../show/report.ts';

/** The outcome for one file. */
export type Outcome =
  | 'written'
  | 'same'
  | { readonly left: string }
  /** Written, after the policy had something replaced in it. */
  | { readonly redacted: readonly RedactedRule[] };

/** An item that is carried from one place to another; `size` is the bytes that it holds in memory meanwhile. */
interface Transfer {
  readonly name: string;
  readonly size: number;
  carry(): Promise<Outcome>;
}

/**
 * Carries some items at once, and tells of them in their order: a run that is cut off has carried the first of them,
 * and few beyond.
 */
export async function transferAll(
  transfers: readonly Transfer[],
  {
    from,
    to,
    invocation,
    told: state = {},
  }: {
    readonly from: string;
    readonly to: string;
    readonly invocation: Invocation;
    readonly told?: StateFields;
  },
): Promise<number> {
  const { report } = invocation;
  const refusals = createRefusals(invocation);
  const counts = { written: 0, same: 0, left: 0 };
  let rules: readonly RedactedRule[] = [];
  let redactedFiles = 0;
  const carry = async (transfer: Transfer) => ({
    name: transfer.name,
    outcome: await transfer.carry().catch(leftOrThrown),
  });
  const tell = async (name: string, outcome: Outcome): Promise<void> => {
    if (typeof outcome === 'string') {
      counts[outcome] += 1;
    } else if ('left' in outcome) {
      counts.left += 1;
      await refusals.tell({ path: name, left: outcome.left }, `FAIL  ${name} ${outcome.left}`);
    } else {
      counts.written += 1;
      redactedFiles += 1;
      rules = sumRules([...rules, ...outcome.redacted]);
      for (const line of redactionLines(name, outcome.redacted)) {
        await report.entry({ path: name, redacted: outcome.redacted }, line);
      }
    }
  };
  await report.during(`writing to ${to}`, async () => {
    for await (const { name, outcome } of eachAhead({ invocation }, transfers, carry)) {
      await tell(name, outcome);
    }
  });
  await refusals.end();
  const { written, same, left } = counts;
  const told = [
    `${counted(written, 'file')} written to ${to}`,
    ...(redactedFiles > 0 ? [`${redactedFiles} of them with ${redactedWords(rules)} replaced`] : []),
    ...(same > 0 ? [`${same} there already`] : []),
    ...(left > 0 ? [`${left} left`] : []),
  ];
  const sums = redactedFiles > 0 ? { redactedFiles, redacted: rules } : {};
  await report.done({ from, to, ...counts, ...sums, ...state }, [
    `${left > 0 ? 'FAIL ' : 'ok   '} ${told.join(', ')}`,
  ]);
  return left > 0 ? EXIT_FAILED : 0;
}

/**
 * Says why one file is left, so that the others go on.
 *
 * @throws the error itself where it is no `MemoryError`, an abort, or a matter for the operator.
 */
function leftOrThrown(error: unknown): Outcome {
  if (hasCode(error, 'integrity')) return { left: 'is damaged: "sealed-memory verify" looks for more' };
  if (hasCode(error, 'not_found')) return { left: 'was deleted meanwhile' };
  if (!(error instanceof MemoryError) || isForTheOperator(error) || error.code === 'aborted') throw error;
  return { left: `was refused: ${error.message}` };
}
