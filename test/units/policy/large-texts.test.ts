import { describe, expect, it } from 'vitest';
import { sensitiveInformation } from '../../../src/policy/index.ts';
import type { PolicyVerdict } from '../../../src/tree/admission/policy.ts';
import { roundsDuring } from '../../stage/measures.ts';
import { TOKEN } from './made-up-token.ts';

const PERSONAL = ['email', 'card', 'iban', 'phone'] as const;
/** Longer than most of what a rule looks at. */
const KEY = [
  '-----BEGIN RSA PRIVATE KEY-----',
  `MI${'aB3+/'.repeat(1_900)}`,
  '-----END RSA PRIVATE KEY-----',
].join('\n');

function judge(
  content: string | Uint8Array,
  options: Parameters<typeof sensitiveInformation>[0],
  signal?: AbortSignal,
): Promise<PolicyVerdict> {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  return Promise.resolve(sensitiveInformation(options)({ path: '/memories/a', content: bytes, signal }));
}

async function redacted(text: string, options: Parameters<typeof sensitiveInformation>[0]): Promise<string> {
  const verdict = await judge(text, { ...options, action: 'redact' });
  if (verdict === 'allow' || !('redact' in verdict)) return text;
  return new TextDecoder().decode(verdict.redact);
}

describe('a text that is looked through in pieces', () => {
  it.each([
    ['email', 'ada.lovelace+x@mail.example.org', 1],
    ['card', '4111 1111 1111 1111', 1],
    ['iban', 'DE89 3704 0044 0532 0130 00', 1],
    ['phone', '+49 (0)30 901820', 1],
    ['github/GITHUB_TOKEN', TOKEN, 9],
    ['privatekey/PrivateKey', KEY, 4_111],
  ])('has each %s once, wherever one piece ends', async (rule, written, step) => {
    const options = rule.includes('/') ? {} : { secrets: false, personal: PERSONAL };
    for (const end of [16_384, 32_768]) {
      for (let at = end - written.length - 2; at <= end + 2; at += step) {
        const front = 'so '.repeat(at).slice(0, at - 1);
        const verdict = await judge(`${front} ${written} and`, options);
        expect([at, verdict]).toEqual([at, { refuse: [{ rule, line: 1 }] }]);
        expect(await redacted(`${front} ${written} and`, options)).toBe(`${front} [redacted: ${rule}] and`);
      }
    }
  });

  it('is not taken for what a piece of it looks like', async () => {
    for (let at = 16_384 - 24; at <= 16_384 + 2; at += 1) {
      const front = 'so '.repeat(at).slice(0, at - 1);
      for (const text of [`${front} 0.4111111111111111`, `${front} 94111111111111111888888888888`]) {
        expect(await judge(text, { secrets: false, personal: PERSONAL })).toBe('allow');
      }
    }
    const glued = `${'x'.repeat(16_384 - 100)}${TOKEN.repeat(10)}x`;
    expect(await judge(glued, {})).toBe('allow');
  });

  it('tells of the first thousand findings, and redacts all of them', async () => {
    const text = 'ada@example.org\n\n'.repeat(20_000);
    const options = { secrets: false, personal: ['email'] } as const;
    const first = Array.from({ length: 1_000 }, (_, index) => ({ rule: 'email', line: 2 * index + 1 }));
    expect(await judge(text, options)).toEqual({ refuse: first });
    const verdict = await judge(text, { ...options, action: 'redact' });
    expect(verdict).toMatchObject({ findings: first });
    expect(await redacted(text, options)).toBe('[redacted: email]\n\n'.repeat(20_000));
  });

  it('tells the line of a finding far behind', async () => {
    const front = 'a line\r\n'.repeat(30_000);
    expect(await judge(`${front}by ada@example.org`, { secrets: false, personal: ['email'] })).toEqual({
      refuse: [{ rule: 'email', line: 30_001 }],
    });
  });

  it('is looked through no further once its caller has gone', async () => {
    const controller = new AbortController();
    const judged = judge('so '.repeat(300_000), { secrets: false, personal: PERSONAL }, controller.signal);
    const rounds = roundsDuring(() => judged.catch(() => {}));
    setImmediate(() => controller.abort());
    await expect(judged).rejects.toMatchObject({ code: 'aborted' });
    expect(await rounds).toBeLessThan(10);
  });
});

describe('bytes that are no text', () => {
  it.each([
    ['a character cut off, as long as what stands for it', [0xf0, 0x9f, 0x8d]],
    ['a shorter one', [0xe2, 0x82]],
    ['a byte alone', [0xff]],
    ['three bytes that are none', [0xff, 0xfe, 0xfd]],
    ['a cut one beside what stands for it', [0xef, 0xbf, 0xbd, 0xf0, 0x9f, 0x8d]],
    ['half of a pair', [0xed, 0xa0, 0x80]],
    ['more bytes than are needed', [0xc0, 0x80, 0xe0, 0x80, 0x80]],
    ['a number beyond the last character', [0xf4, 0x90, 0x80, 0x80]],
  ])('are refused and never rewritten: %s', async (_, bytes) => {
    const options = { secrets: false, personal: PERSONAL, action: 'redact' } as const;
    for (const [front, behind] of [
      ['Ask ada@example.org ', '.'],
      ['', ' ask ada@example.org'],
    ] as const) {
      const encoder = new TextEncoder();
      const content = Uint8Array.from([...encoder.encode(front), ...bytes, ...encoder.encode(behind)]);
      expect(await judge(content, options)).toEqual({
        refuse: [{ rule: 'email', line: 1 }],
        reason: 'not_text',
      });
    }
  });

  it('are text with the character that stands for such bytes', async () => {
    expect(await redacted('\ufeff\ufffd ada@example.org', { secrets: false, personal: PERSONAL })).toBe(
      '\ufffd [redacted: email]',
    );
  });
});
