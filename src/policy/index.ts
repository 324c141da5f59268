import { misconfigured } from '../errors.ts';
import { encodeText } from '../language/text.ts';
import type { Policy, PolicyFile, PolicyFinding, PolicyVerdict } from '../tree/policy.ts';
import { findPersonalData, type Match, type PersonalData } from './personal-data.ts';
import { findSecrets } from './secrets.ts';

export type { Policy, PolicyFile, PolicyFinding, PolicyVerdict } from '../tree/policy.ts';
export type { PersonalData } from './personal-data.ts';

export interface SensitiveInformationOptions {
  /** Whether keys, tokens and passwords are looked for, with `@secretlint/core`; default true. */
  readonly secrets?: boolean;
  /** Which personal data is looked for; none unless given. */
  readonly personal?: readonly PersonalData[];
  /** `refuse` (default): nothing is written. `redact`: `[redacted: RULE]` is written in its place. */
  readonly action?: 'refuse' | 'redact';
}

const KINDS: readonly PersonalData[] = ['email', 'card', 'iban', 'phone'];
const DECODER = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * A policy that keeps sensitive information out of a memory: it judges the whole file as it would be, and its path. It
 * tells rule and line, never the match. Bytes that are no text are looked through as far as they can be read as one,
 * and refused where a redaction would be due.
 *
 * @throws MemoryError `misconfigured` for options that are none.
 */
export function sensitiveInformation(options: SensitiveInformationOptions = {}): Policy {
  const { secrets = true, personal = [], action = 'refuse' } = options;
  const unknown = personal.find((kind) => !KINDS.includes(kind));
  if (unknown !== undefined || (action !== 'refuse' && action !== 'redact')) {
    throw misconfigured(`personal takes ${KINDS.join(', ')}; action takes refuse or redact.`);
  }
  const kinds = new Set(personal);

  const find = async (text: string): Promise<readonly Match[]> => [
    ...(secrets ? await findSecrets(text) : []),
    ...findPersonalData(text, kinds),
  ];

  return async ({ path, content }: PolicyFile): Promise<PolicyVerdict> => {
    const inName = await find(path);
    if (inName.length > 0) return { refuse: inName.map(({ rule }) => ({ rule })) };
    if (content === undefined) return 'allow';
    const text = DECODER.decode(content);
    const found = await find(text);
    if (found.length === 0) return 'allow';
    const findings = findingsOf(text, found);
    const isText = encodeText(text).length === content.length;
    return action === 'redact' && isText
      ? { redact: encodeText(redacted(text, found)), findings }
      : { refuse: findings };
  };
}

function findingsOf(text: string, found: readonly Match[]): readonly PolicyFinding[] {
  return inOrder(found).map(({ rule, start }) => ({ rule, line: text.slice(0, start).split('\n').length }));
}

/** Matches that overlap are redacted together. */
function redacted(text: string, found: readonly Match[]): string {
  let [result, from] = ['', 0];
  for (const { rule, start, end } of inOrder(found)) {
    if (end <= from) continue;
    if (start >= from) result += `${text.slice(from, start)}[redacted: ${rule}]`;
    from = end;
  }
  return result + text.slice(from);
}

function inOrder(found: readonly Match[]): readonly Match[] {
  return found.toSorted((a, b) => a.start - b.start || b.end - a.end);
}
