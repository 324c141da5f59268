import type { RedactedRule } from '../../tool/redactions.ts';
import { counted } from './report.ts';

/** Says what the policy had replaced in a file; nothing where it is what was given. */
export function redactionLines(path: string, redacted: readonly RedactedRule[] = []): readonly string[] {
  return redacted.length === 0
    ? []
    : [`note  ${path}: the policy replaced ${redactedWords(redacted)} before it was written`];
}

/** Says how many findings there are, and of which rules. */
export function redactedWords(redacted: readonly RedactedRule[]): string {
  const findings = redacted.reduce((sum, each) => sum + each.findings, 0);
  const rules = redacted.map((each) => `${each.rule} ${each.findings}`).join(', ');
  return `${counted(findings, 'finding')} (${rules})`;
}
