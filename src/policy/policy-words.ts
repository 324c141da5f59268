import { misconfigured } from '../errors.ts';
import type { Policy } from '../tree/admission/policy.ts';
import type { PersonalData } from './personal-data.ts';

const PERSONAL: readonly PersonalData[] = ['email', 'card', 'iban', 'phone'];
/** The words of a policy: what it may look for, and `redact`. */
const WORDS: readonly string[] = ['secrets', ...PERSONAL, 'invisible', 'redact'];

/**
 * A policy of the caller's own, or words for the one in `sealed-memory/policy`: the kinds to look for, and `redact`.
 */
export type PolicyInput = Policy | string;

/** Judges the words of a policy. @throws MemoryError `misconfigured` that names `label` and all words. */
export function checkPolicyWords(text: string, label: string): void {
  const words = wordsOf(text);
  if (words.some((word) => word !== 'redact') && words.every((word) => WORDS.includes(word))) return;
  throw misconfigured(`${label} takes some of ${WORDS.join(', ')}, with commas between them.`);
}

/** Makes the policy that words stand for. The first write loads its modules. */
export function readPolicy(given: PolicyInput | undefined): Policy | undefined {
  if (typeof given !== 'string') return given;
  const words = new Set(wordsOf(given));
  const personal = PERSONAL.filter((kind) => words.has(kind));
  let policy: Policy | undefined;
  return async (file) => {
    const { sensitiveInformation } = await import('./index.ts');
    policy ??= sensitiveInformation({
      secrets: words.has('secrets'),
      personal,
      invisible: words.has('invisible'),
      action: words.has('redact') ? 'redact' : 'refuse',
    });
    return policy(file);
  };
}

function wordsOf(text: string): readonly string[] {
  return text.split(',').map((word) => word.trim());
}
