import { misconfigured } from '../errors.ts';
import { invisibleIn } from '../language/invisible.ts';
import { countLineBreaks, decodeText, encodeText } from '../language/text.ts';
import { letOthersRun, throwIfAborted } from '../time.ts';
import type { Policy, PolicyFile, PolicyFinding, PolicyVerdict } from '../tree/admission/policy.ts';
import { AROUND_PERSONAL_DATA, findPersonalData, type PersonalData } from './personal-data.ts';
import { AROUND_SECRETS, findSecrets } from './secrets.ts';
import { type Match, matchesIn, type Piece, piecesOf } from './text-pieces.ts';

export type { Policy, PolicyFile, PolicyFinding, PolicyVerdict } from '../tree/admission/policy.ts';
export type { PersonalData } from './personal-data.ts';

export interface SensitiveInformationOptions {
  /** True to look for keys, tokens and passwords, with `@secretlint/core`; default true. */
  readonly secrets?: boolean;
  /** The kinds of personal data to look for; none unless given. */
  readonly personal?: readonly PersonalData[];
  /**
   * True to look for characters that cannot be seen, such as tag characters, which a model reads as text; default false.
   * Those that emoji and joined letters need where they stand are left alone.
   */
  readonly invisible?: boolean;
  /**
   * The action on a finding. `refuse` (default): the write is refused. `redact`: `[redacted: RULE]` is written in its
   * place.
   */
  readonly action?: 'refuse' | 'redact';
}

const KINDS: readonly PersonalData[] = ['email', 'card', 'iban', 'phone'];
/** The most findings that a verdict names. */
const MOST_FINDINGS = 1_000;
/** Reads any bytes as far as they are text. */
const LENIENT = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Makes a policy that keeps sensitive information out of a memory: it judges the whole file after the write, and its
 * path. It tells rule and line of the first 1,000 findings, never the match. In bytes that are no text it searches the
 * parts that can be read as text; where a redaction would be due there, it refuses the write. It takes time in
 * proportion to the file, and lets others run at least once for each 64 KiB of it.
 *
 * @throws MemoryError `misconfigured` for invalid options. The policy throws `aborted` once its signal has fired.
 */
export function sensitiveInformation(options: SensitiveInformationOptions = {}): Policy {
  const { secrets = true, personal = [], invisible = false, action = 'refuse' } = options;
  const unknown = personal.find((kind) => !KINDS.includes(kind));
  if (unknown !== undefined || (action !== 'refuse' && action !== 'redact')) {
    throw misconfigured(`personal takes ${KINDS.join(', ')}; action takes refuse or redact.`);
  }
  const rules: Rules = { secrets, personal: new Set(personal), invisible };

  return async ({ path, content, signal }: PolicyFile): Promise<PolicyVerdict> => {
    const inName = await firstFindings(foundIn(path, rules, signal));
    if (inName.length > 0) return { refuse: inName.map(({ rule }) => ({ rule })) };
    if (content === undefined) return 'allow';
    const text = decodeText(content);
    const found = foundIn(text ?? LENIENT.decode(content), rules, signal);
    if (action === 'refuse' || text === undefined) {
      const findings = await firstFindings(found);
      if (findings.length === 0) return 'allow';
      return action === 'refuse' ? { refuse: findings } : { refuse: findings, reason: 'not_text' };
    }
    const { redacted, findings } = await redact(text, found);
    return findings.length > 0 ? { redact: encodeText(redacted), findings } : 'allow';
  };
}

interface Rules {
  readonly secrets: boolean;
  readonly personal: ReadonlySet<PersonalData>;
  readonly invisible: boolean;
}

interface LocatedMatch extends Match {
  readonly line: number;
}

/** Yields the findings of the rules in each piece of a text, in order. Others run between two pieces. */
async function* foundIn(
  text: string,
  { secrets, personal, invisible }: Rules,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly LocatedMatch[], void> {
  let [line, counted] = [1, 0];
  const lineAt = (at: number): number => {
    // A search for line feeds in the whole text would read it to its end for each match.
    line += countLineBreaks(text.slice(counted, at));
    counted = at;
    return line;
  };
  for (const piece of piecesOf(text)) {
    if (piece.from > 0) await letOthersRun();
    throwIfAborted(signal);
    const matches = [
      ...(secrets ? await matchesIn(piece, AROUND_SECRETS, findSecrets) : []),
      ...(await matchesIn(piece, AROUND_PERSONAL_DATA, (part) => findPersonalData(part, personal))),
      ...(invisible ? findInvisible(piece) : []),
    ];
    const inOrder = matches.toSorted((a, b) => a.start - b.start || b.end - a.end);
    yield inOrder.map((match) => ({ ...match, line: lineAt(match.start) }));
    lineAt(piece.to);
  }
}

function* findInvisible({ text, from, to }: Piece): Generator<Match, void> {
  for (const { start, end } of invisibleIn(text, from, to)) yield { rule: 'invisible', start, end };
}

/** Collects findings, and reads no further than to the last one that a verdict names. */
async function firstFindings(
  found: AsyncIterable<readonly LocatedMatch[]>,
): Promise<readonly PolicyFinding[]> {
  const findings: PolicyFinding[] = [];
  for await (const matches of found) {
    findings.push(...tellable(matches, findings.length));
    if (findings.length === MOST_FINDINGS) break;
  }
  return findings;
}

/** Redacts a text; matches that overlap are redacted together, and those of one rule that touch. */
async function redact(
  text: string,
  found: AsyncIterable<readonly LocatedMatch[]>,
): Promise<{ readonly redacted: string; readonly findings: readonly PolicyFinding[] }> {
  const findings: PolicyFinding[] = [];
  let [redacted, from, last] = ['', 0, ''];
  for await (const matches of found) {
    for (const { rule, start, end } of matches) {
      if (end <= from) continue;
      if (start > from || (start === from && rule !== last)) {
        redacted += `${text.slice(from, start)}[redacted: ${rule}]`;
      }
      [from, last] = [end, rule];
    }
    findings.push(...tellable(matches, findings.length));
  }
  return { redacted: redacted + text.slice(from), findings };
}

function tellable(found: readonly LocatedMatch[], told: number): readonly PolicyFinding[] {
  return found.slice(0, MOST_FINDINGS - told).map(({ rule, line }) => ({ rule, line }));
}
