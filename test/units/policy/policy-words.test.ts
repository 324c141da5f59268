import { expect, it } from 'vitest';
import { checkPolicyWords, readPolicy } from '../../../src/policy/policy-words.ts';
import type { PolicyVerdict } from '../../../src/tree/admission/policy.ts';
import { TOKEN } from './made-up-token.ts';

it.each([
  ['secrets', true],
  ['email,card,iban,phone', true],
  ['secrets,redact', true],
  [' email , redact ', true],
  ['invisible', true],
  ['invisible,redact', true],
  ['redact', false],
  ['secrets,other', false],
  ['redact,other', false],
  ['other', false],
  ['', false],
])('the words %j make a policy: %s', (words, isTaken) => {
  if (isTaken) expect(() => checkPolicyWords(words, 'policy')).not.toThrow();
  else expect(() => checkPolicyWords(words, 'policy')).toThrow('policy takes some of secrets, email');
});

const TEXT = `ada@example.org\n4111 1111 1111 1111\nDE89 3704 0044 0532 0130 00\n+49 30 901820\n${TOKEN}\nto\u200bday\n`;

async function judge(words: string, text = TEXT): Promise<PolicyVerdict | undefined> {
  const content = new TextEncoder().encode(text);
  return readPolicy(words)?.({ path: '/memories/a', content, signal: undefined });
}

it.each([
  ['email', [1]],
  ['card', [2]],
  ['iban', [3]],
  ['phone', [4]],
  ['secrets', [5]],
  ['invisible', [6]],
  ['phone, email', [1, 4]],
])('the words %j refuse what stands in the lines %j', async (words, lines) => {
  const verdict = await judge(words);
  expect(verdict).toHaveProperty('refuse');
  const { refuse } = verdict as { readonly refuse: readonly { readonly line?: number }[] };
  expect(refuse.map(({ line }) => line)).toEqual(lines);
});

it('the word redact replaces what the others find', async () => {
  const verdict = await judge('email,redact', 'Ask ada@example.org.');
  expect(new TextDecoder().decode(Object(verdict).redact)).toBe('Ask [redacted: email].');
});

it('words make one policy for all writes', async () => {
  const policy = readPolicy('email');
  const content = new TextEncoder().encode('ada@example.org');
  for (let write = 0; write < 2; write += 1) {
    expect(await policy?.({ path: '/memories/a', content, signal: undefined })).toEqual({
      refuse: [{ rule: 'email', line: 1 }],
    });
  }
});

it('a policy of the caller’s is taken as it is, and none for none', () => {
  const own = () => 'allow' as const;
  expect(readPolicy(own)).toBe(own);
  expect(readPolicy(undefined)).toBeUndefined();
});
