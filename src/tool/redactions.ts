import type { CallOptions } from '../tree/tenant.ts';

/**
 * A rule by which a policy had something replaced, and how often, among the first 1,000 findings. The text of a finding
 * is left out.
 */
export interface RedactedRule {
  readonly rule: string;
  readonly findings: number;
}

/** The rules by which parts of a file were replaced, and the number of bytes that were written. */
interface Redacted {
  readonly rules: readonly RedactedRule[];
  readonly bytes: number;
}

/**
 * Makes the options of a call that note what the policy had replaced in it: the policy may be asked several times, and
 * its last word counts.
 */
export function watchRedactions<Options extends CallOptions>(
  given: Options,
): {
  readonly options: Options & Pick<CallOptions, 'onRedacted'>;
  readonly redacted: () => Redacted | undefined;
} {
  let last: Redacted | undefined;
  const onRedacted: CallOptions['onRedacted'] = (findings, bytes) => {
    last = { rules: sumRules(findings.map(({ rule }) => ({ rule, findings: 1 }))), bytes };
    given.onRedacted?.(findings, bytes);
  };
  return { options: { ...given, onRedacted }, redacted: () => last };
}

/** Sums the findings of each rule, in the order in which the rules come first. */
export function sumRules(rules: readonly RedactedRule[]): readonly RedactedRule[] {
  const sums = new Map<string, number>();
  for (const { rule, findings } of rules) sums.set(rule, (sums.get(rule) ?? 0) + findings);
  return [...sums].map(([rule, findings]) => ({ rule, findings }));
}
