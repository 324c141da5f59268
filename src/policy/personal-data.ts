/** Kinds of personal data that can be looked for. */
export type PersonalData = 'email' | 'card' | 'iban' | 'phone';

/** A place in a text, in UTF-16 units. */
export interface Match {
  readonly rule: string;
  readonly start: number;
  readonly end: number;
}

const EMAIL = /[\p{L}\p{N}._%+-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24}/gu;
const CARD = /(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.])/g;
const IBAN = /(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]){11,30}(?![A-Za-z0-9])/g;
/** International numbers, by E.164: without a country in front nothing tells a phone number from any other. */
const PHONE = /(?<![\w+])\+[1-9](?:[ ()/.-]{0,2}\d){7,14}(?!\d)/g;
const LEAST_IBAN = 15;

/** Where personal data of these kinds stands; numbers count only with a check digit that is right. */
export function findPersonalData(text: string, kinds: ReadonlySet<PersonalData>): readonly Match[] {
  return [
    ...(kinds.has('email') ? matches(text, EMAIL, 'email') : []),
    ...(kinds.has('card') ? matches(text, CARD, 'card').filter((match) => isCard(textAt(text, match))) : []),
    ...(kinds.has('iban') ? matches(text, IBAN, 'iban').flatMap((match) => ibanWithin(text, match)) : []),
    ...(kinds.has('phone') ? matches(text, PHONE, 'phone') : []),
  ];
}

function matches(text: string, pattern: RegExp, rule: string): readonly Match[] {
  return [...text.matchAll(pattern)].map(({ index, 0: found }) => ({
    rule,
    start: index,
    end: index + found.length,
  }));
}

function textAt(text: string, { start, end }: Match): string {
  return text.slice(start, end);
}

/** By the check digit of Luhn. */
function isCard(text: string): boolean {
  const digits = [...text.replace(/\D/g, '')].map(Number).reverse();
  const sum = digits.reduce((total, digit, index) => {
    const doubled = index % 2 === 0 ? digit : digit * 2;
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0 && new Set(digits).size > 1;
}

/** A word may stand behind an IBAN and look like a part of it: the longest beginning with right check digits counts. */
function ibanWithin(text: string, match: Match): readonly Match[] {
  for (let end = match.end; end - match.start >= LEAST_IBAN; end--) {
    const given = text.slice(match.start, end);
    if (/\S$/.test(given) && !/^[A-Za-z0-9]/.test(text.slice(end)) && isIban(given.replaceAll(' ', ''))) {
      return [{ ...match, end }];
    }
  }
  return [];
}

/** By ISO 7064, MOD 97-10. */
function isIban(text: string): boolean {
  if (text.length < LEAST_IBAN || text.length > 34) return false;
  const moved = `${text.slice(4)}${text.slice(0, 4)}`.toUpperCase();
  const digits = moved.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55));
  return BigInt(digits) % 97n === 1n;
}
