import { describe, expect, it } from 'vitest';
import { findPersonalData, type PersonalData } from '../../../src/policy/personal-data.ts';

const VISA = '4111 1111 1111 1111';

/** The texts that are found, each with its kind. */
function found(text: string, ...kinds: readonly PersonalData[]): readonly (readonly [string, string])[] {
  return findPersonalData(text, new Set(kinds)).map(({ rule, start, end }) => [rule, text.slice(start, end)]);
}

const cards = (text: string): readonly string[] => found(text, 'card').map(([, card]) => card);

/** Digits that begin so, with the check digit of Luhn at their end. */
function withCheckDigit(begin: string, length: number): string {
  const digits = begin.padEnd(length - 1, '0');
  const sum = [...digits]
    .reverse()
    .map((digit, index) => Number(digit) * (index % 2 === 0 ? 2 : 1))
    .reduce((total, value) => total + (value > 9 ? value - 9 : value), 0);
  return `${digits}${(10 - (sum % 10)) % 10}`;
}

/** Digits in groups of these sizes. */
function grouped(digits: string, ...sizes: readonly number[]): string {
  const ends = sizes.map((_, index) => sizes.slice(0, index + 1).reduce((sum, size) => sum + size, 0));
  return sizes.map((size, index) => digits.slice((ends[index] ?? 0) - size, ends[index])).join(' ');
}

describe('the numbers of cards', () => {
  /** The lengths from 12 to 20 that each beginning has. */
  const ISSUERS: readonly (readonly [begins: readonly string[], lengths: readonly number[]])[] = [
    [['4'], [13, 16, 19]],
    [['51', '52', '53', '54', '55', '22', '23', '24', '25', '26', '27'], [16]],
    [['34', '37'], [15]],
    [
      ['30', '36', '38', '39'],
      [14, 16, 19],
    ],
    [['35'], [16, 17, 18, 19]],
    [
      ['50', '56', '57', '58', '60', '61', '62', '63', '64', '65', '66', '67', '68', '69'],
      [13, 14, 15, 16, 17, 18, 19],
    ],
    [['81', '82'], [16]],
    [['9792'], [16]],
    [['0', '1', '20', '21', '28', '29', '31', '32', '33', '59', '7', '80', '83', '89', '90', '9791'], []],
  ];

  it.each(ISSUERS)('that begin with %j have %j digits', (begins, lengths) => {
    for (const begin of begins) {
      for (let length = 12; length <= 20; length += 1) {
        const number = withCheckDigit(`${begin}5`, length);
        expect([number, cards(`x ${number} y`)]).toEqual([number, lengths.includes(length) ? [number] : []]);
      }
    }
  });

  it('are none with another last digit, or of one digit alone', () => {
    const right = withCheckDigit('45', 16);
    for (let last = 0; last <= 9; last += 1) {
      const number = `${right.slice(0, -1)}${last}`;
      expect(cards(number)).toEqual(number === right ? [right] : []);
    }
    // Its check digit is right, and an issuer's first digits are.
    expect(withCheckDigit('6'.repeat(12), 13)).toBe('6'.repeat(13));
    expect(cards('6'.repeat(13))).toEqual([]);
  });
});

describe('a card', () => {
  it('may be written in any groups, unless a letter or an underscore stands before it', () => {
    const odd = grouped('4111111111111111', 2, 2, 2, 2, 2, 2, 2, 2);
    for (const text of [odd, `Visa ${odd} and`, `Visa: ${odd}, `, `9) ${odd}`])
      expect(cards(text)).toEqual([odd]);
    for (const glued of ['x', 'é', '_']) expect(cards(`${glued}${odd} and`)).toEqual([]);
  });

  it.each([
    ['13 digits', withCheckDigit('4', 13)],
    ['19 digits', withCheckDigit('4', 19)],
    ['four groups of four', VISA],
    ['four groups of four and one of one', grouped(withCheckDigit('63', 17), 4, 4, 4, 4, 1)],
    ['four groups of four and one of three', grouped(withCheckDigit('63', 19), 4, 4, 4, 4, 3)],
    ['groups of four, six and four', grouped(withCheckDigit('30', 14), 4, 6, 4)],
    ['groups of four, six and five', grouped(withCheckDigit('37', 15), 4, 6, 5)],
  ])('that is printed as %s may be glued to a word and have digits behind it', (_, card) => {
    expect(found(`x${card}`, 'card')).toEqual([['card', card]]);
    expect(cards(`${card} 123`)).toEqual([card]);
    expect(cards(`12 ${card} 1234`)).toEqual([card]);
  });

  it.each([
    ['a group too short before them', grouped(withCheckDigit('63', 18), 2, 4, 4, 4, 4)],
    ['a group too short behind them', grouped(withCheckDigit('63', 17), 4, 6, 4, 3)],
    ['a group too short among them', grouped(withCheckDigit('4', 16), 2, 4, 4, 4, 2)],
    ['a group too long', grouped(withCheckDigit('4', 16), 5, 4, 4, 3)],
  ])('glued to a word is none in groups in which none is printed: %s', (_, digits) => {
    expect(cards(digits)).toEqual([digits]);
    expect(cards(`x${digits}`)).toEqual([]);
  });

  it('is the longest of those that begin at one place', () => {
    const behind = Array.from({ length: 1_000 }, (_, number) => String(number).padStart(3, '0'));
    const long = behind.map((digits) => `${VISA} ${digits}`).filter((text) => cards(text)[0] === text);
    expect(long).toHaveLength(100);
    for (const text of long) expect(cards(`x${text}`)).toEqual([text]);
  });

  it.each([
    ['a decimal', '0.4111111111111111'],
    ['a decimal without a zero', '.4111111111111111'],
    ['a number with decimals', '4111111111111111.5'],
    ['a hexadecimal number, behind its letters', '9abc4111111111111111'],
    ['a hexadecimal number, before its letters', '4111111111111111abc9'],
  ])('is none as a part of %s, wherever it stands', (_, text) => {
    for (const [before, behind] of [
      ['', ''],
      ['', ' and what follows on it in a longer sentence of some forty characters'],
      ['a sentence of more than forty characters that ends here: ', ''],
    ] as const) {
      expect(cards(`${before}${text}${behind}`)).toEqual([]);
    }
  });

  it('is one beside what is no part of its number', () => {
    for (const text of [`Nr.${VISA}.`, `${VISA} costs 1.5`, `${VISA} is ab1`, `ab ${VISA}`, `v1 ${VISA}`]) {
      expect(cards(text)).toEqual([VISA]);
    }
  });

  it('is not seen in the digits of an IBAN, and is beside one', () => {
    const iban = withIbanCheck('DE', '411111111111111100');
    expect(found(iban, 'card')).toEqual([]);
    expect(found(iban, 'card', 'iban')).toEqual([['iban', iban]]);
    expect(found(grouped(iban, 4, 4, 4, 4, 4, 2), 'card')).toEqual([]);
    expect(cards(`${VISA} and ${iban}`)).toEqual([VISA]);
    expect(cards(`${iban} and ${VISA}`)).toEqual([VISA]);
    expect(cards(`DE00 ${VISA} 00`)).toEqual([VISA]);
  });
});

/** An IBAN with the right check digits. */
function withIbanCheck(country: string, account: string): string {
  const letters = [...country].map((letter) => String(Number.parseInt(letter, 36))).join('');
  const check = 98n - (BigInt(`${account}${letters}00`) % 97n);
  return `${country}${String(check).padStart(2, '0')}${account}`;
}

describe('what is looked for', () => {
  const text = `ada@example.org, ${VISA}, DE89 3704 0044 0532 0130 00, +49 30 901820`;

  it.each([
    [[], []],
    [['email'], ['ada@example.org']],
    [['card'], [VISA]],
    [['iban'], ['DE89 3704 0044 0532 0130 00']],
    [['phone'], ['+49 30 901820']],
    [
      ['phone', 'email', 'iban', 'card'],
      ['ada@example.org', VISA, 'DE89 3704 0044 0532 0130 00', '+49 30 901820'],
    ],
  ] as readonly (readonly [readonly PersonalData[], readonly string[]])[])('is %j alone', (kinds, texts) => {
    expect(found(text, ...kinds).map(([, written]) => written)).toEqual(texts);
  });
});
