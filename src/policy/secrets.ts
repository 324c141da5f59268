import { loadPeer } from '../errors.ts';
import type { Match } from './text-pieces.ts';

const OF = 'the policy for secrets';

/**
 * The UTF-16 units that a rule looks at: before a match, and from its beginning on. The longest secrets whose length a
 * rule bounds are tokens of 12,029 characters and keys of some 10,100; a longer secret is found, and ends where these
 * units end.
 */
export const AROUND_SECRETS = { before: 256, after: 12_288 } as const;

/** Finds secrets, by the recommended rules of secretlint. It passes on nothing that its messages say of a secret. */
export async function findSecrets(text: string): Promise<readonly Match[]> {
  const [{ lintSource }, { creator }] = await Promise.all([
    loadPeer(() => import('@secretlint/core'), { name: '@secretlint/core', of: OF }),
    loadPeer(() => import('@secretlint/secretlint-rule-preset-recommend'), {
      name: '@secretlint/secretlint-rule-preset-recommend',
      of: OF,
    }),
  ]);
  const looked = asLooked(text);
  const { messages } = await lintSource({
    source: { content: looked, filePath: 'memory.txt', ext: '.txt', contentType: 'text' },
    options: {
      config: { rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: creator }] },
      // The data of a message tells the secret itself.
      maskSecrets: false,
      noPhysicFilePath: true,
    },
  });
  return messages.map(({ ruleId, messageId, data, range: [start, told] }) => {
    const end = endOfSecret(looked, { start, end: told }, data);
    const found = text.slice(start, end);
    return {
      rule: `${ruleId.replace(/^@secretlint\/secretlint-rule-/, '')}/${messageId}`,
      // Some rules match the white space beside a secret, too.
      start: start + (found.length - found.trimStart().length),
      end: end - (found.length - found.trimEnd().length),
    };
  });
}

/**
 * Answers the end of a secret. The rule for keys of AWS tells where the name before a key begins, and the length of the
 * key without it: such a range ends within the key.
 */
function endOfSecret(
  text: string,
  { start, end }: Pick<Match, 'start' | 'end'>,
  data: object | undefined,
): number {
  const ends = Object.values(data ?? {})
    .filter((value): value is string => typeof value === 'string' && value.length === end - start)
    .map((secret) => text.indexOf(secret, start) + secret.length);
  return Math.max(end, ...ends);
}

/**
 * Answers the text, every character in its place, without the two parts that secretlint takes for its own: comments
 * such as `secretlint-disable`, by which the writer of a secret could switch the rules off, and a byte order mark,
 * which it drops.
 */
function asLooked(text: string): string {
  return text.replace(/secretlint-/gi, (word) => `${word.slice(0, -1)}_`).replace(/^\ufeff/, ' ');
}
