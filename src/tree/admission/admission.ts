import { hasCode, MemoryError } from '../../errors.ts';
import type { MemoryPath } from '../../language/path.ts';
import { inTime, throwIfAborted } from '../../time.ts';
import type { CallOptions, Tenant } from '../tenant.ts';
import type { Policy, PolicyFile, PolicyFinding, PolicyVerdict } from './policy.ts';

/** The most rules of the findings, and the most lines, that a sentence for the model names. */
const MOST_NAMED = 10;

type Admitting = Pick<Tenant, 'policy' | 'maxFileBytes'>;

/**
 * Asks the policy about `content` and answers the content to write: `content` itself, or the redacted one.
 *
 * @param waitMs how long the policy may take; 60 s unless given.
 * @throws MemoryError `limit_exceeded`, `policy_refused` with `rules` and `lines`; `unavailable` when the policy
 * failed, or did not answer in time; `aborted`.
 */
export async function admitContent(
  tenant: Admitting,
  { path, content }: { readonly path: MemoryPath; readonly content: Uint8Array },
  { signal, onRedacted }: CallOptions,
  waitMs?: number,
): Promise<Uint8Array> {
  refuseTooLarge(tenant, content);
  if (tenant.policy === undefined) return content;
  const verdict = await judged(tenant.policy, { path, content, signal }, waitMs);
  if (verdict === 'allow') return content;
  if ('refuse' in verdict) throw refused(verdict.refuse, verdict.reason);
  refuseTooLarge(tenant, verdict.redact);
  onRedacted?.(verdict.findings, verdict.redact.length);
  return verdict.redact;
}

/**
 * Asks the policy about the new name of a file or a directory.
 *
 * @throws MemoryError as `admitContent`.
 */
export async function admitName(
  { policy }: Admitting,
  path: MemoryPath,
  { signal }: CallOptions,
): Promise<void> {
  if (policy === undefined) return;
  const verdict = await judged(policy, { path, content: undefined, signal });
  if (verdict !== 'allow') throw refused('refuse' in verdict ? verdict.refuse : verdict.findings);
}

/**
 * Refuses content above `maxFileBytes`.
 *
 * @throws MemoryError `limit_exceeded` with the numbers.
 */
export function refuseTooLarge(
  { maxFileBytes }: Pick<Tenant, 'maxFileBytes'>,
  content: { readonly length: number },
): void {
  if (content.length <= maxFileBytes) return;
  throw new MemoryError('limit_exceeded', 'the content is larger than the file limit', {
    details: { limit: 'file_bytes', value: content.length, max: maxFileBytes },
  });
}

/**
 * Asks the policy. A policy's error may quote the file, or have a code that reveals something about the memory: it is
 * replaced, except for `misconfigured`, with which this library's policy says what to install. A policy that gives no
 * valid answer refuses the write, too.
 */
async function judged(policy: Policy, file: PolicyFile, waitMs?: number): Promise<PolicyVerdict> {
  const { signal } = file;
  const late = failed('did not answer');
  let failure: MemoryError | undefined;
  try {
    const verdict: unknown = await inTime(() => policy(file), { signal, late: () => late, ms: waitMs });
    if (isVerdict(verdict)) return verdict;
  } catch (error) {
    if (error === late) failure = late;
    if (hasCode(error, 'misconfigured')) failure = error;
  }
  throwIfAborted(signal);
  throw failure ?? failed('failed');
}

function failed(how: string): MemoryError {
  return new MemoryError('unavailable', `The policy ${how}, so nothing was written: look at the policy.`);
}

function isVerdict(verdict: unknown): verdict is PolicyVerdict {
  if (verdict === 'allow') return true;
  if (typeof verdict !== 'object' || verdict === null) return false;
  if ('refuse' in verdict) return areFindings(verdict.refuse);
  return (
    'redact' in verdict &&
    verdict.redact instanceof Uint8Array &&
    areFindings(Reflect.get(verdict, 'findings'))
  );
}

function areFindings(given: unknown): boolean {
  return Array.isArray(given) && given.every((finding) => typeof finding?.rule === 'string');
}

function refused(findings: readonly PolicyFinding[], reason?: string): MemoryError {
  const rules = [...new Set(findings.map(({ rule }) => rule))].slice(0, MOST_NAMED);
  const lines = [...new Set(findings.flatMap(({ line }) => line ?? []))].slice(0, MOST_NAMED);
  const inName = findings.some(({ line }) => line === undefined);
  const isNotText = reason === 'not_text';
  const why = isNotText ? ': it is not UTF-8 text, in which alone findings are replaced' : '';
  return new MemoryError('policy_refused', `The policy refused what would have been written${why}.`, {
    details: { rules, lines, inName, ...(isNotText && { reason }) },
  });
}
