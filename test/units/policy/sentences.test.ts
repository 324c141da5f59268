import { describe, expect, it } from 'vitest';
import { type PersonalData, sensitiveInformation } from '../../../src/policy/index.ts';

const KINDS: readonly PersonalData[] = ['email', 'card', 'iban', 'phone'];

/** One of each kind, as people write it: in groups and without. */
const WRITTEN: readonly (readonly [PersonalData, string])[] = [
  ['card', '4111 1111 1111 1111'],
  ['card', '4111-1111-1111-1111'],
  ['card', '4111111111111111'],
  ['card', '4111\u00a01111\u00a01111\u00a01111'],
  ['card', '4111\u202f1111\u202f1111\u202f1111'],
  ['card', '4111\u20111111\u20111111\u20111111'],
  ['card', '3782 822463 10005'],
  ['card', '3056 930902 5904'],
  ['card', '6304 0000 0000 0000 042'],
  ['email', 'ada.lovelace+x@mail.example.org'],
  ['email', 'e\u0301ve@exa\u0301mple.org'],
  ['iban', 'DE89 3704 0044 0532 0130 00'],
  ['iban', 'DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000'],
  ['iban', 'gb82west12345698765432'],
  ['phone', '+49 30 901820'],
  ['phone', '+49\u00a030\u00a0901820'],
  ['phone', '+49 \u2013 30 \u2013 901820'],
  ['phone', '+1 (703) 555-0100'],
];

/** The places at which it stands in what people write. */
const PLACES: Readonly<Record<string, (written: string) => string>> = {
  alone: (it) => it,
  'before a full stop': (it) => `We have ${it}.`,
  'before a full stop and a sentence': (it) => `We have ${it}. It is new.`,
  'before a comma': (it) => `We have ${it}, they said`,
  'before a question mark': (it) => `Is it ${it}?`,
  'before an ellipsis': (it) => `It was ${it}...`,
  'in brackets': (it) => `That one (${it}) is old`,
  'in square brackets': (it) => `see [${it}]`,
  'in quotes': (it) => `they said "${it}" twice`,
  'in German quotes': (it) => `sie sagte „${it}“`,
  'behind a label': (it) => `card: ${it}`,
  'behind a label without a space': (it) => `card:${it}`,
  'behind v.': (it) => `v. ${it}`,
  'in bold': (it) => `It is **${it}**`,
  'in code': (it) => `It is \`${it}\``,
  'in a table': (it) => `| name | ${it} | 12 |`,
  'in a narrow table': (it) => `|${it}|`,
  'in a list': (it) => `- ${it}\n- another`,
  'in a numbered list': (it) => `1. ${it}\n2. another`,
  'in a URL': (it) => `https://example.org/?q=${it}&page=2`,
  'in JSON': (it) => JSON.stringify({ a: it, b: [12] }),
  'in a row of CSV': (it) => `17,${it},2027`,
  'in a row of tabs': (it) => `17\t${it}\t2027`,
  'in a tag': (it) => `<b>${it}</b>`,
  'at the end of a line': (it) => `It is ${it}\nand so on`,
  'at the end of a line of Windows': (it) => `It is ${it}\r\nand so on`,
  'after a dash': (it) => `paid \u2014 ${it} \u2014 twice`,
  'after an equals sign': (it) => `number=${it};`,
};

/** The surroundings that the numbers of cards alone have. */
const CARD_PLACES: Readonly<Record<string, (written: string) => string>> = {
  'behind v. without a space': (it) => `v.${it}`,
  'behind v': (it) => `v${it}`,
  'behind a word': (it) => `Visa${it}`,
  'behind Nr.': (it) => `Nr.${it}.`,
  'before an expiry date': (it) => `${it} 12/27`,
  'before an expiry date and a code': (it) => `${it} 12/27 123`,
  'before a long expiry date': (it) => `${it} 12/2027`,
  'before a code': (it) => `${it} 123`,
  'before a long code': (it) => `${it} 1234`,
  'before an expiry date with hyphens': (it) => `${it} 12-27`,
  'before a glued code': (it) => `${it}cvc123`,
  'behind a count': (it) => `2 ${it}`,
  'behind a date': (it) => `2026-11-21 ${it}`,
  'before another': (it) => `${it} 5500 0055 5555 5559`,
};

async function rulesIn(text: string): Promise<readonly string[]> {
  const policy = sensitiveInformation({ secrets: false, personal: KINDS });
  const content = new TextEncoder().encode(text);
  const verdict = await policy({ path: '/memories/a', content, signal: undefined });
  if (verdict === 'allow') return [];
  const findings = 'refuse' in verdict ? verdict.refuse : verdict.findings;
  return [...new Set(findings.map(({ rule }) => rule))];
}

describe('personal data in a sentence', () => {
  it.each(Object.entries(PLACES))('is found %s', async (_, place) => {
    for (const [kind, written] of WRITTEN) {
      expect([place(written), await rulesIn(place(written))]).toEqual([place(written), [kind]]);
    }
  });

  it.each(Object.entries(CARD_PLACES))('is found for a card %s', async (_, place) => {
    for (const [, written] of WRITTEN.filter(([kind]) => kind === 'card')) {
      expect([place(written), await rulesIn(place(written))]).toEqual([place(written), ['card']]);
    }
  });

  it('is found behind what looks like its beginning', async () => {
    expect(await rulesIn('see ab12 for DE89 3704 0044 0532 0130 00')).toEqual(['iban']);
    expect(await rulesIn('de12 de89370400440532013000')).toEqual(['iban']);
    expect(await rulesIn('4711 4711 4111 1111 1111 1111')).toEqual(['card']);
  });

  it.each<[string, readonly string[]]>([
    [
      'a version',
      ['v1.2.3', '10.15.7-4111', 'lodash@4.17.21', '1.2.4111111111111111', '4111111111111111.2.3'],
    ],
    [
      'a date',
      ['2026-11-21', '2026-11-21 09-00-00', '21.11.2026, 09:00', '20261121T090000Z', '2026 11 21 09 00 00'],
    ],
    ['a time stamp', every((step) => String(1_763_712_000_000 + step * 61_001))],
    ['a time stamp in microseconds', every((step) => String(1_763_712_000_000_000 + step * 61_000_001))],
    ['an ISBN', every((step) => isbn(978_316_148_410 + step * 7))],
    ['a long id', every((step) => `${4_111_111_111_111_111_111n * 1_000n + BigInt(step)}`)],
    ['the number of a device', ['356938035643809', '490154203237518'.slice(0, 14)]],
    ['a decimal', every((step) => `0.${4_111_111_111_111_111 + step}`)],
    ['a decimal without a zero', every((step) => `is .${4_111_111_111_111_111 + step} of it`)],
    ['an amount', every((step) => `${4_111_111_111_111_111 + step}.50 EUR`)],
    [
      'an address of a machine',
      ['192.168.100.200', '2001:0db8:85a3:0000:0000:8a2e:0370:7334', '10.0.0.1:8080'],
    ],
    ['a UUID', every((step) => `550e8400-e29b-41d4-a716-${446_655_440_000 + step}`)],
    ['a UUID of digits', every((step) => `12345678-1234-1234-1234-${446_655_440_000 + step}`)],
    [
      'a hash',
      every((step) => `9b74c9897bac770f${4_111_111_111_111_111 + step}fc029102a4cd61481371b252b8cf36b6`),
    ],
    ['a wrong IBAN', ['DE88 3704 0044 0532 0130 00', 'XX89 3704 0044 0532 0130 00']],
    [
      'a word and a number',
      every((step) => `py${10 + (step % 90)} and some words of ${step} that follow it here`),
    ],
    ['years in a row', ['2019 2020 2021 2022 2023 2024 2025 2026']],
    ['a number without a country', ['030 901820', '0 30 / 90 18 20']],
  ])('is not seen in %s', async (_, texts) => {
    for (const text of texts) expect([text, await rulesIn(text)]).toEqual([text, []]);
  });
});

/** A hundred of a kind: one in ten has a right check digit by chance. */
function every(make: (step: number) => string): readonly string[] {
  return Array.from({ length: 100 }, (_, step) => make(step));
}

function isbn(start: number): string {
  const digits = [...String(start)].map(Number);
  const sum = digits.reduce((total, digit, index) => total + digit * (index % 2 === 0 ? 1 : 3), 0);
  const all = `${start}${(10 - (sum % 10)) % 10}`;
  return `${all.slice(0, 3)}-${all.slice(3, 4)}-${all.slice(4, 6)}-${all.slice(6, 12)}-${all.slice(12)}`;
}
