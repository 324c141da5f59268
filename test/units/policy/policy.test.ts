import { describe, expect, it } from 'vitest';
import {
  type PersonalData,
  type SensitiveInformationOptions,
  sensitiveInformation,
} from '../../../src/policy/index.ts';
import { TOKEN } from './made-up-token.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const PERSONAL: readonly PersonalData[] = ['email', 'card', 'iban', 'phone'];

async function judge(text: string | Uint8Array, options?: SensitiveInformationOptions, path = '/memories/a') {
  const content = typeof text === 'string' ? encode(text) : text;
  return sensitiveInformation(options)({ path, content, signal: undefined });
}

async function rulesIn(text: string, options?: SensitiveInformationOptions): Promise<readonly string[]> {
  const verdict = await judge(text, options);
  if (verdict === 'allow') return [];
  return ('refuse' in verdict ? verdict.refuse : verdict.findings).map(({ rule, line }) => `${rule} ${line}`);
}

describe('sensitiveInformation', () => {
  it('finds secrets, and tells rule and line alone', async () => {
    const verdict = await judge(`one\ntwo\nmy token is ${TOKEN}\n`);
    expect(verdict).toEqual({ refuse: [{ rule: 'github/GITHUB_TOKEN', line: 3 }] });
    expect(await rulesIn('postgres://user:passw0rd1@db.example.org:5432/x')).toEqual([
      'database-connection-string/PostgreSQLConnection 1',
    ]);
    expect(await judge('An ordinary note of 2026-11-21 about v1.2.3 and order 4711.')).toBe('allow');
    expect(await judge(TOKEN, { secrets: false })).toBe('allow');
  });

  it('cannot be switched off by what is written', async () => {
    for (const words of [
      '// secretlint-disable',
      '<!-- SECRETLINT-DISABLE -->',
      '# secretlint-disable-next-line',
    ]) {
      expect(await rulesIn(`${words}\n${TOKEN} `)).toEqual(['github/GITHUB_TOKEN 2']);
    }
  });

  it.each<[PersonalData, string]>([
    ['email', 'Ask ada.lovelace+x@mail.example.org.'],
    ['card', 'Paid with 4111 1111 1111 1111, thanks'],
    ['card', 'Paid with 5500-0055-5555-5559'],
    ['iban', 'To DE89 3704 0044 0532 0130 00 please'],
    ['iban', 'To gb82west12345698765432'],
    ['phone', 'Call +49 30 901820 today'],
  ])('finds an %s when asked to: %s', async (kind, text) => {
    expect(await rulesIn(text, { secrets: false, personal: [kind] })).toEqual([`${kind} 1`]);
    expect(await judge(text)).toBe('allow');
    const others = PERSONAL.filter((each) => each !== kind);
    expect(await judge(text, { secrets: false, personal: others })).toBe('allow');
  });

  it.each([
    ['a wrong check digit of a card', '4111 1111 1111 1112'],
    ['a run of zeros', '0000 0000 0000 0000'],
    ['a wrong check digit of an IBAN', 'DE88 3704 0044 0532 0130 00'],
    ['a number without a country', '030 901820'],
    ['an at sign', 'meet @ noon, a@b'],
    ['a time stamp', '1763712000000'],
  ])('takes %s for what it is', async (_, text) => {
    expect(await rulesIn(text, { personal: PERSONAL })).toEqual([]);
  });

  it('redacts every match, also those that overlap, and leaves the rest to the byte', async () => {
    const options = { personal: PERSONAL, action: 'redact' } as const;
    const text = `\ufeffé one ${TOKEN}\r\nada@example.org and 4111111111111111 \u{1f35e}`;
    const verdict = await judge(text, options);
    if (verdict === 'allow' || 'refuse' in verdict) throw new Error('nothing was redacted');
    expect(new TextDecoder('utf-8', { ignoreBOM: true }).decode(verdict.redact)).toBe(
      '\ufeffé one [redacted: github/GITHUB_TOKEN]\r\n[redacted: email] and [redacted: card] \u{1f35e}',
    );
    const overlapping = await judge('postgres://user:passw0rd1@db.example.org:5432/x', options);
    if (overlapping === 'allow' || 'refuse' in overlapping) throw new Error('nothing was redacted');
    expect(new TextDecoder().decode(overlapping.redact)).toBe(
      '[redacted: database-connection-string/PostgreSQLConnection]',
    );
  });

  it('refuses names and bytes that cannot be redacted', async () => {
    const options = { personal: PERSONAL, action: 'redact' } as const;
    const refused = { refuse: [{ rule: 'email' }] };
    expect(await judge('text', options, '/memories/ada@example.org/notes')).toEqual(refused);
    const policy = sensitiveInformation(options);
    expect(
      await policy({ path: '/memories/ada@example.org', content: undefined, signal: undefined }),
    ).toEqual(refused);
    const binary = Uint8Array.from([...encode('ada@example.org '), 0xff, 0x00]);
    expect(await judge(binary, options)).toEqual({
      refuse: [{ rule: 'email', line: 1 }],
      reason: 'not_text',
    });
  });

  it('refuses options that are none', () => {
    const wrong = [{ personal: ['name'] }, { action: 'mask' }] as unknown as SensitiveInformationOptions[];
    for (const options of wrong) {
      expect(() => sensitiveInformation(options)).toThrow(expect.objectContaining({ code: 'misconfigured' }));
    }
  });
});
