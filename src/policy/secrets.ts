import { loadPeer } from '../errors.ts';
import type { Match } from './text-pieces.ts';

const OF = 'the policy for secrets';

/**
 * The UTF-16 units that a rule looks at: before a match, and from its beginning on. The longest secrets whose length a
 * rule bounds are tokens of 12,029 characters and keys of some 10,100; a longer secret is found, and ends where these
 * units end.
 */
export const AROUND_SECRETS = { before: 256, behind: 12_288 } as const;

/** Finds secrets, by the recommended rules of secretlint. The words of its messages about a secret are ignored. */
export async function findSecrets(text: string): Promise<readonly Match[]> {
  const [{ lintSource }, { creator }] = await Promise.all([
    loadPeer(() => import('@secretlint/core'), { name: '@secretlint/core', of: OF }),
    loadPeer(() => import('@secretlint/secretlint-rule-preset-recommend'), {
      name: '@secretlint/secretlint-rule-preset-recommend',
      of: OF,
    }),
  ]);
  const { messages } = await lintSource({
    source: { content: asLooked(text), filePath: 'memory.txt', ext: '.txt', contentType: 'text' },
    options: {
      config: { rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: creator }] },
      maskSecrets: true,
      noPhysicFilePath: true,
    },
  });
  return messages.map(({ ruleId, messageId, range: [start, end] }) => {
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
 * Answers the text, every character in its place, without the two parts that secretlint takes for its own: comments
 * such as `secretlint-disable`, by which the writer of a secret could switch the rules off, and a byte order mark,
 * which it drops.
 */
function asLooked(text: string): string {
  return text.replace(/secretlint-/gi, (word) => `${word.slice(0, -1)}_`).replace(/^\ufeff/, ' ');
}
