import { expect, it } from 'vitest';
import { checkPolicyWords } from '../../../src/policy/policy-words.ts';

it.each([
  ['secrets', true],
  ['email,card,iban,phone', true],
  ['secrets,redact', true],
  ['redact', false],
  ['secrets,other', false],
  ['redact,other', false],
  ['other', false],
  ['', false],
])('the words %j make a policy: %s', (words, isTaken) => {
  if (isTaken) expect(() => checkPolicyWords(words, 'policy')).not.toThrow();
  else expect(() => checkPolicyWords(words, 'policy')).toThrow('policy takes some of secrets, email');
});
