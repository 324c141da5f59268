import type { Call } from '../tree/tenant.ts';

/** By which rule a policy had something replaced, and how often; of the first 1,000 findings. Never what was found. */
export interface RedactedRule {
  readonly rule: string;
  readonly findings: number;
}

/** What was replaced in a file, and the bytes that were written instead. */
interface Redacted {
  readonly rules: readonly RedactedRule[];
  readonly bytes: number;
}

/** The options of a call, and what the policy had replaced in it: it may be asked several times, and its last word counts. */
export function watchRedactions(given: Call): {
  readonly options: Call;
  readonly redacted: () => Redacted | undefined;
} {
  let last: Redacted | undefined;
  const onRedacted: Call['onRedacted'] = (findings, bytes) => {
    last = { rules: sumRules(findings.map(({ rule }) => ({ rule, findings: 1 }))), bytes };
    given.onRedacted?.(findings, bytes);
  };
  return { options: { ...given, onRedacted }, redacted: () => last };
}

/** Each rule once, in the order in which they come first. */
export function sumRules(rules: readonly RedactedRule[]): readonly RedactedRule[] {
  const sums = new Map<string, number>();
  for (const { rule, findings } of rules) sums.set(rule, (sums.get(rule) ?? 0) + findings);
  return [...sums].map(([rule, findings]) => ({ rule, findings }));
}
