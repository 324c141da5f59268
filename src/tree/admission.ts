import { MemoryError } from '../errors.ts';
import type { MemoryPath } from '../language/path.ts';
import type { Policy, PolicyFile, PolicyFinding, PolicyVerdict } from './policy.ts';
import type { Call, Session } from './session.ts';

/** What of a finding a sentence for the model names, at most. */
const MOST_NAMED = 10;

type Admitting = Pick<Session, 'policy' | 'maxFileBytes'>;

/**
 * The content as it may be written.
 *
 * @throws MemoryError `limit_exceeded`, `policy_refused` with `rules` and `lines`; `unavailable` when the policy failed.
 */
export async function admitContent(
  session: Admitting,
  { path, content }: { readonly path: MemoryPath; readonly content: Uint8Array },
  { signal, onRedacted }: Call,
): Promise<Uint8Array> {
  refuseTooLarge(session, content);
  if (session.policy === undefined) return content;
  const verdict = await judged(session.policy, { path, content, signal });
  if (verdict === 'allow') return content;
  if ('refuse' in verdict) throw refused(verdict.refuse);
  refuseTooLarge(session, verdict.redact);
  onRedacted?.(verdict.findings, verdict.redact.length);
  return verdict.redact;
}

/** @throws MemoryError `policy_refused`; `unavailable` when the policy failed. */
export async function admitName({ policy }: Admitting, path: MemoryPath, { signal }: Call): Promise<void> {
  if (policy === undefined) return;
  const verdict = await judged(policy, { path, content: undefined, signal });
  if (verdict !== 'allow') throw refused('refuse' in verdict ? verdict.refuse : verdict.findings);
}

/** @throws MemoryError `limit_exceeded` with the numbers. */
export function refuseTooLarge({ maxFileBytes }: Pick<Session, 'maxFileBytes'>, content: Uint8Array): void {
  if (content.length <= maxFileBytes) return;
  throw new MemoryError('limit_exceeded', 'the content is larger than the file limit', {
    details: { limit: 'file_bytes', value: content.length, max: maxFileBytes },
  });
}

/** What a policy throws may quote the file: nothing of it is passed on. */
async function judged(policy: Policy, file: PolicyFile): Promise<PolicyVerdict> {
  let verdict: unknown;
  try {
    verdict = await policy(file);
  } catch (error) {
    if (error instanceof MemoryError) throw error;
  }
  if (isVerdict(verdict)) return verdict;
  throw new MemoryError('unavailable', 'The policy failed, so nothing was written: look at the policy.');
}

function isVerdict(verdict: unknown): verdict is PolicyVerdict {
  if (verdict === 'allow') return true;
  if (typeof verdict !== 'object' || verdict === null) return false;
  if ('refuse' in verdict) return Array.isArray(verdict.refuse);
  return 'redact' in verdict && verdict.redact instanceof Uint8Array && 'findings' in verdict;
}

function refused(findings: readonly PolicyFinding[]): MemoryError {
  const rules = [...new Set(findings.map(({ rule }) => rule))].slice(0, MOST_NAMED);
  const lines = [...new Set(findings.flatMap(({ line }) => line ?? []))].slice(0, MOST_NAMED);
  const inName = findings.some(({ line }) => line === undefined);
  return new MemoryError('policy_refused', 'The policy refused what would have been written.', {
    details: { rules, lines, inName },
  });
}
