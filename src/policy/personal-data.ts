import type { Match } from './text-pieces.ts';

/** The kinds of personal data that the policy can look for. */
export type PersonalData = 'email' | 'card' | 'iban' | 'phone';

/** The UTF-16 units that a rule looks at: before a match, and from its beginning on. */
export const AROUND_PERSONAL_DATA = { before: 128, after: 1_024 } as const;

/**
 * The characters that stand between the parts of a number: spaces and hyphens, also those at which no line is broken.
 */
const BETWEEN = ' \\u00a0\\u2007\\u2009\\u202f\\u2010\\u2011\\u2013\\-';

/** Finds personal data of these kinds; numbers count only with a check digit that is right. */
export function findPersonalData(text: string, kinds: ReadonlySet<PersonalData>): readonly Match[] {
  const ibans = kinds.has('iban') || kinds.has('card') ? [...ibansIn(text)] : [];
  return [
    ...(kinds.has('email') ? emailsIn(text) : []),
    ...(kinds.has('card') ? cardsIn(text, ibans) : []),
    ...(kinds.has('iban') ? ibans : []),
    ...(kinds.has('phone') ? phonesIn(text) : []),
  ];
}

/**
 * Finds addresses. It reads the name backwards from the sign: a search that began at each of its characters would read
 * it again and again.
 */
const EMAIL =
  /@(?<=([\p{L}\p{M}\p{N}._%+-]{1,64})@)(?:[\p{L}\p{M}\p{N}-]{1,63}\.){1,8}\p{L}[\p{L}\p{M}]{1,23}/gu;

function* emailsIn(text: string): Generator<Match, void> {
  for (const { index, 0: found, 1: name = '' } of text.matchAll(EMAIL)) {
    yield { rule: 'email', start: index - name.length, end: index + found.length };
  }
}

/** Finds international numbers, by E.164: only a country in front tells a phone number from any other. */
const PHONE = new RegExp(`(?<![\\w+])\\+[1-9](?:[${BETWEEN}()/.]{0,3}\\d){7,14}(?!\\d)`, 'g');

function* phonesIn(text: string): Generator<Match, void> {
  for (const { index, 0: found } of text.matchAll(PHONE)) {
    yield { rule: 'phone', start: index, end: index + found.length };
  }
}

const [LEAST_DIGITS, MOST_DIGITS] = [13, 19];
const DIGITS = new RegExp(`\\d(?:[${BETWEEN}]?\\d){${LEAST_DIGITS - 1},}`, 'g');
/** The numbers that issuers give their cards: first digits, and how many follow on them. */
const ISSUED =
  /^(?:4\d{12}(?:\d{3}){0,2}|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3[0689]\d{12}(?:\d{2}|\d{5})?|35\d{14,17}|(?:5[06-8]|6\d)\d{11,17}|8[12]\d{14}|9792\d{12})$/;
/**
 * The groups in which cards are printed. Only in these groups may a card have other digits beside it, such as its date
 * and its code.
 */
const PRINTED = /^(?:\d{13,19}|\d{4}\D\d{4}\D\d{4}\D\d{4}(?:\D\d{1,3})?|\d{4}\D\d{6}\D\d{4,5})$/;
const PRINTED_GROUPS = 5;

type Span = Pick<Match, 'start' | 'end'>;

/** Finds cards. The longest of those that begin at one place counts. */
function* cardsIn(text: string, ibans: readonly Match[]): Generator<Match, void> {
  for (const { index, 0: run } of text.matchAll(DIGITS)) {
    const isGlued = /[\p{L}_]/u.test(text.charAt(index - 1));
    const whole = { start: index, end: index + run.length };
    let found = -1;
    for (const { start, end } of [...(isGlued ? [] : [whole]), ...printedIn(run, index)]) {
      const isKnown = start === found || ibans.some((iban) => iban.start < end && start < iban.end);
      if (isKnown || !isCard(text.slice(start, end)) || isInside(text, { start, end })) continue;
      found = start;
      yield { rule: 'card', start, end };
    }
  }
}

/**
 * Yields the places where a run of digits at `index` may hold a printed card: from group to group, the longest first.
 */
function* printedIn(run: string, index: number): Generator<Span, void> {
  const groups = [...run.matchAll(/\d+/g)].map((found) => ({ at: found.index, digits: found[0].length }));
  for (const [first, { at: start }] of groups.entries()) {
    const ends: number[] = [];
    let digits = 0;
    for (const group of groups.slice(first, first + PRINTED_GROUPS)) {
      digits += group.digits;
      if (digits > MOST_DIGITS) break;
      if (digits >= LEAST_DIGITS) ends.push(group.at + group.digits);
    }
    for (const end of ends.reverse()) {
      if (PRINTED.test(run.slice(start, end))) yield { start: index + start, end: index + end };
    }
  }
}

/** The units beside digits that tell a number from a part of another one. */
const BESIDE = 32;

/** Tells digits that are a part of a decimal number, of a version such as 1.2.3 or of a hexadecimal number. */
function isInside(text: string, { start, end }: Span): boolean {
  const before = text.slice(Math.max(0, start - BESIDE), start);
  const after = text.slice(end, end + BESIDE);
  return /(?:^|[^\p{L}.])\.$|\d[a-f]+$/iu.test(before) || /^\.\d|^[a-f]+\d/i.test(after);
}

/** Tells whether the digits are a card's, by an issuer's first digits and length and the check digit of Luhn. */
function isCard(text: string): boolean {
  if (text.length > 2 * MOST_DIGITS) return false;
  const digits = text.replace(/\D/g, '');
  if (!ISSUED.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const doubled = index % 2 === 0 ? Number(digit) : Number(digit) * 2;
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0 && new Set(digits).size > 1;
}

/** The number of characters in the IBANs of each country, by the registry of ISO 13616. */
const IBAN_LENGTHS: ReadonlyMap<string, number> = new Map(
  `AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18
  FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20
  LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24
  SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30`
    .split(/\s+/)
    .map((country) => [country.slice(0, 2), Number(country.slice(2))]),
);
const IBAN_START = /(?<![A-Za-z0-9])[A-Za-z]{2}(?=\d\d)/g;
const IBAN_CHARACTER = new RegExp(`[${BETWEEN}]?[A-Za-z0-9]`, 'y');

function* ibansIn(text: string): Generator<Match, void> {
  for (const { index, 0: country } of text.matchAll(IBAN_START)) {
    const length = IBAN_LENGTHS.get(country.toUpperCase());
    const end = length === undefined ? undefined : endOfIban(text, index, length);
    if (end === undefined) continue;
    const written = text.slice(index, end).replace(/[^A-Za-z0-9]/g, '');
    if (isIban(written)) yield { rule: 'iban', start: index, end };
  }
}

/**
 * Answers the place after `length` characters; undefined where the text has fewer, or goes on with more than an IBAN of
 * the country has.
 */
function endOfIban(text: string, start: number, length: number): number | undefined {
  IBAN_CHARACTER.lastIndex = start;
  for (let characters = 0; characters < length; characters += 1) {
    if (!IBAN_CHARACTER.test(text)) return undefined;
  }
  const end = IBAN_CHARACTER.lastIndex;
  return /[A-Za-z0-9]/.test(text.charAt(end)) ? undefined : end;
}

/** Tells whether the check digits are right by ISO 7064, MOD 97-10. */
function isIban(text: string): boolean {
  const moved = `${text.slice(4)}${text.slice(0, 4)}`;
  const remainder = [...moved].reduce((before, character) => {
    const value = Number.parseInt(character, 36);
    return (before * (value > 9 ? 100 : 10) + value) % 97;
  }, 0);
  return remainder === 1;
}
