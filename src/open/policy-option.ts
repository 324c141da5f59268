import { misconfigured } from '../errors.ts';
import type { PersonalData } from '../policy/personal-data.ts';
import type { Policy } from '../tree/policy.ts';

const WORDS: readonly string[] = ['secrets', 'email', 'card', 'iban', 'phone', 'redact'];

/** A policy of the caller's own, or words for the one in `sealed-memory/policy`: what it looks for, and `redact`. */
export type PolicyInput = Policy | string;

/** @throws MemoryError `misconfigured`, naming `label` and the words there are. */
export function checkPolicyWords(text: string, label: string): void {
  const words = wordsOf(text);
  if (words.some((word) => word !== 'redact') && words.every((word) => WORDS.includes(word))) return;
  throw misconfigured(`${label} takes some of ${WORDS.join(', ')}, with commas between them.`);
}

/** Loads what the words need at the first write. */
export function readPolicy(given: PolicyInput | undefined): Policy | undefined {
  if (typeof given !== 'string') return given;
  const words = new Set(wordsOf(given));
  const personal = [...words].filter((word) => word !== 'secrets' && word !== 'redact') as PersonalData[];
  let policy: Policy | undefined;
  return async (file) => {
    const { sensitiveInformation } = await import('../policy/index.ts');
    policy ??= sensitiveInformation({
      secrets: words.has('secrets'),
      personal,
      action: words.has('redact') ? 'redact' : 'refuse',
    });
    return policy(file);
  };
}

function wordsOf(text: string): readonly string[] {
  return text.split(',').map((word) => word.trim());
}
