import { describe, expect, it } from 'vitest';
import { sensitiveInformation } from '../../../src/policy/index.ts';
import { findSecrets } from '../../../src/policy/secrets.ts';
import { TOKEN } from './made-up-token.ts';

/** Made up, in the form of a key of AWS. */
const AWS_KEY = 'wJalrXUtnFEMIxK7MDENGxbPxRfiCYAAAAAAAKEY';

async function redacted(text: string): Promise<string> {
  const content = new TextEncoder().encode(text);
  const verdict = await sensitiveInformation({ action: 'redact' })({
    path: '/memories/a',
    content,
    signal: undefined,
  });
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Object(verdict).redact);
}

describe('a secret that is redacted', () => {
  it.each([
    ['AWS_SECRET_ACCESS_KEY=', ''],
    ['AWS_SECRET_ACCESS_KEY = ', ' and more'],
    ['aws_secret_access_key: "', '"'],
    ["'SecretAccessKey' => '", "'"],
    [`SECRET_ACCESS_KEY =${' '.repeat(60)}`, '\n'],
  ])('leaves nothing of a key behind its name: %j', async (name, behind) => {
    for (const front of ['', 'one\ntwo: ']) {
      const text = `${front}${name}${AWS_KEY}${behind}`;
      expect(await redacted(text)).toMatch(/\[redacted: aws\/AWSSecretAccessKey\]/);
      for (let at = 0; at <= AWS_KEY.length - 6; at += 1) {
        expect(await redacted(text)).not.toContain(AWS_KEY.slice(at, at + 6));
      }
    }
  });

  it('leaves nothing of two keys on one line', async () => {
    const other = AWS_KEY.toLowerCase();
    const text = await redacted(`AWS_SECRET_ACCESS_KEY=${AWS_KEY} aws_secret_access_key=${other} end`);
    expect(text).toBe('[redacted: aws/AWSSecretAccessKey] [redacted: aws/AWSSecretAccessKey] end');
  });

  it('leaves what stands beside it, also words by which a linter is switched off', async () => {
    expect(await redacted(`a secretlint-disable ${TOKEN} b`)).toBe(
      'a secretlint-disable [redacted: github/GITHUB_TOKEN] b',
    );
    expect(await redacted(`\ufeff${TOKEN}\n`)).toBe('\ufeff[redacted: github/GITHUB_TOKEN]\n');
  });
});

it('each secret is told with the rule that knows it, and from its first to its last character', async () => {
  const text = `so ${TOKEN} and glpat-a1B2c3D4e5F6g7H8i9J0 .`;
  expect((await findSecrets(text)).map(({ rule, start, end }) => [rule, text.slice(start, end)])).toEqual([
    ['github/GITHUB_TOKEN', TOKEN],
    ['gitlab/GITLAB_PERSONAL_ACCESS_TOKEN', 'glpat-a1B2c3D4e5F6g7H8i9J0'],
  ]);
});
