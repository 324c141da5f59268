/** A run of one character that cannot be seen, or of tag characters, which are read together. */
interface InvisibleSpan {
  /** The place of the first character in the text, in UTF-16 units. */
  readonly start: number;
  /** The place after the last character, in UTF-16 units. */
  readonly end: number;
  /** The number of characters. */
  readonly count: number;
  /** The code point of the first character. */
  readonly codePoint: number;
  /** The ASCII text that tag characters stand for; undefined for any other character. */
  readonly tags: string | undefined;
}

/**
 * Characters of which nothing is seen: controls but tab, line feed and carriage return, format characters, those that a
 * program ignores in display, separators of lines and paragraphs, and letters and symbols that are blank. Signs above
 * and below numbers are format characters, too, but are seen.
 */
const UNSEEN =
  /(?![\t\n\r\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])[\p{Cc}\p{Cf}\p{DI}\u2028\u2029\u2800\u{1d159}]/gu;

const LETTER = /\p{L}/u;
const LETTER_OR_MARK = /[\p{L}\p{M}]/u;
/** Letters and marks of scripts whose letters join: a joiner beside one changes its shape. */
const JOINING = /(?=[\p{L}\p{M}])[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Nkoo}\p{scx=Adlm}]/u;
/** Signs of Indic scripts with which a joiner makes or prevents a conjunct: those that take a vowel away. */
const VIRAMA = /[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca\u1039\u103a\u17d2\u1b44\ua9c0]/;
/** Marks of Indic scripts, before which a joiner keeps a letter apart. */
const INDIC_MARK = /(?=\p{M})[\u0900-\u1b7f\ua980-\ua9df]/u;
/** Scripts without spaces, in which a zero width space ends a word. */
const SPACELESS = /[\p{scx=Khmr}\p{scx=Thai}\p{scx=Laoo}\p{scx=Mymr}]/u;
/** The first letters of Korean syllables, and the vowels. */
const [HANGUL_FIRST, HANGUL_VOWEL] = [/[\u1100-\u115e\ua960-\ua97c]/, /[\u1161-\u11a7]/];
const EMOJI_CHARACTER = /\p{Emoji}/u;
const KEY = /[#*0-9]/;
const MONGOLIAN = /\p{scx=Mong}/u;
const HAN = /\p{scx=Han}/u;
/** Characters beside ideographs that have forms of their own. */
const HAS_FORMS = /[\p{Sm}\p{scx=Mymr}\p{scx=Phag}]/u;

/** Tells whether a character is needed where it stands, between the character before it and the one after it. */
function isNeeded(codePoint: number, before: string, after: string): boolean {
  switch (codePoint) {
    case 0xad:
      return LETTER_OR_MARK.test(before) && LETTER.test(after);
    case 0x200b:
      return SPACELESS.test(before) && SPACELESS.test(after);
    case 0x200c:
    case JOINER:
      return (
        JOINING.test(before) ||
        JOINING.test(after) ||
        VIRAMA.test(before) ||
        (INDIC_MARK.test(after) && LETTER_OR_MARK.test(before))
      );
    // A syllable of old Korean that lacks its first or its second letter.
    case 0x115f:
      return HANGUL_VOWEL.test(after);
    case 0x1160:
      return HANGUL_FIRST.test(before);
    case 0xfe0f:
    case 0xfe0e:
      return KEY.test(before) ? after === '\u20e3' : EMOJI_CHARACTER.test(before);
  }
  if (codePoint > 0xe00ff) return codePoint < 0xe01f0 && HAN.test(before);
  if (codePoint > 0x180a && codePoint < 0x1810) return MONGOLIAN.test(before);
  return codePoint > 0xfdff && codePoint < 0xfe03 && (HAN.test(before) || HAS_FORMS.test(before));
}

/** More UTF-16 units than the longest emoji has. */
const EMOJI_UNITS = 64;
/** Emoji are looked up slowly: after this many that are none, no more are looked up. */
const MOST_MISSES = 64;
const JOINER = 0x200d;

/**
 * Yields what cannot be seen in a text and begins from `from` on and before `to`, in order; the next part of the text
 * goes on where this one ends. A character that Unicode's own sequences need where it stands is left out: within emoji,
 * a joiner or a hyphen between letters, a selector after its character. Takes time in proportion to `to - from`.
 */
export function* invisibleIn(
  text: string,
  from = 0,
  to: number = text.length,
): Generator<InvisibleSpan, void> {
  // An emoji may begin before the part.
  const begin = Math.max(0, from - EMOJI_UNITS);
  let span: InvisibleSpan | undefined;
  let [emojiEnd, misses] = [0, 0];
  // One unit more: the last character of the part may have two.
  for (const { 0: character, index } of text.slice(begin, to + 1).matchAll(UNSEEN)) {
    const start = begin + index;
    if (start >= to) break;
    if (start < emojiEnd) continue;
    const codePoint = character.codePointAt(0) ?? 0;
    const end = start + character.length;
    if (misses < MOST_MISSES && (codePoint === JOINER || tagText(codePoint) !== undefined)) {
      const found = endOfEmoji(text, start, emojiEnd);
      if (found === undefined) misses += 1;
      else emojiEnd = found;
    }
    const isSeen =
      start < emojiEnd || isNeeded(codePoint, characterBefore(text, start), characterAt(text, end));
    if (isSeen || start < from) continue;
    const next = { start, end, count: 1, codePoint, tags: tagText(codePoint) };
    const joined = span && joinedSpan(span, next);
    if (span && !joined) yield span;
    span = joined ?? next;
  }
  if (span) yield span;
}

/** Counts the characters of a text that cannot be seen. */
export function countInvisible(text: string): number {
  let count = 0;
  for (const span of invisibleIn(text)) count += span.count;
  return count;
}

/** A box for a run of one character that cannot be seen, or of tag characters. */
interface InvisibleBox {
  /** The abbreviation of the character and how many there are, or the text that tags stand for. */
  readonly label: string;
  /** The code point and the name. */
  readonly name: string;
}

/** Yields the parts of a text from `from` to `to`, in order: what can be seen, and boxes for what cannot. */
export function* seenParts(
  text: string,
  from = 0,
  to: number = text.length,
): Generator<string | InvisibleBox, void> {
  let at = from;
  for (const span of invisibleIn(text, from, to)) {
    if (span.start > at) yield text.slice(at, span.start);
    yield { label: labelOf(span), name: nameOf(span) };
    at = span.end;
  }
  if (at < to) yield text.slice(at, to);
}

/** Writes a text for people, with `⟨…⟩` in the place of what cannot be seen. */
export function visible(text: string): string {
  return [...seenParts(text)].map((part) => (typeof part === 'string' ? part : `⟨${part.label}⟩`)).join('');
}

/** Writes a name that others chose for a place within a line: it begins no line of its own. */
export function visibleName(name: string): string {
  return visible(name).replace(/[\t\n\r]/g, (character) => `⟨${CONTROLS[character.charCodeAt(0)]}⟩`);
}

function labelOf({ codePoint, count, tags }: InvisibleSpan): string {
  if (tags !== undefined) return `TAG "${tags}"`;
  return `${shortNameOf(codePoint)}${count > 1 ? ` ×${count.toLocaleString('en')}` : ''}`;
}

function nameOf({ codePoint, tags }: InvisibleSpan): string {
  if (tags !== undefined) return 'U+E0000–E007F, tag characters';
  const name = NAMES.get(codePoint)?.[1] ?? (isSelector(codePoint) ? 'variation selector' : undefined);
  return `${hexOf(codePoint)}${name === undefined ? '' : `, ${name}`}`;
}

function joinedSpan(before: InvisibleSpan, next: InvisibleSpan): InvisibleSpan | undefined {
  const areTags = before.tags !== undefined && next.tags !== undefined;
  if (before.end !== next.start || !(areTags || before.codePoint === next.codePoint)) return undefined;
  const tags = areTags ? `${before.tags}${next.tags}` : undefined;
  return { ...before, end: next.end, count: before.count + 1, tags };
}

/** Answers the ASCII text of a tag character, empty for one that begins or ends tags; undefined for any other. */
function tagText(codePoint: number): string | undefined {
  if (codePoint >= 0xe0020 && codePoint <= 0xe007e) return String.fromCharCode(codePoint - 0xe0000);
  return codePoint === 0xe0001 || codePoint === 0xe007f ? '' : undefined;
}

/** Emoji that are joined, as programs also write them: without the selectors between. A flag with tags after it. */
const SEQUENCE =
  /\p{ExtPict}[\ufe0f\p{EMod}]?(?:\u200d\p{ExtPict}[\ufe0f\p{EMod}]?){1,3}|\u{1f3f4}[\u{e0020}-\u{e007e}]{1,8}\u{e007f}/uy;
const LACKS_SELECTOR = /(?!\p{EPres})\p{ExtPict}(?![\ufe0f\p{EMod}])/gu;
const MODIFIER = /[\ufe0f\p{EMod}]/u;
/** Compiled when it is first needed: it would take a browser 17 ms while the page loads. */
let emoji: RegExp | undefined;

/**
 * Answers where the emoji ends to which a joiner or a tag at `at` belongs, as its first one; undefined where it belongs
 * to none. No emoji begins before `from`.
 */
function endOfEmoji(text: string, at: number, from: number): number | undefined {
  const last = characterBefore(text, at);
  const start = at - last.length;
  SEQUENCE.lastIndex = MODIFIER.test(last) ? start - characterBefore(text, start).length : start;
  if (SEQUENCE.lastIndex < from) return undefined;
  const found = SEQUENCE.exec(text);
  emoji ??= /^\p{RGI_Emoji}$/v;
  const isEmoji = found && emoji.test(found[0].replace(LACKS_SELECTOR, '$&\ufe0f'));
  return isEmoji ? found.index + found[0].length : undefined;
}

function characterAt(text: string, at: number): string {
  return at < text.length ? String.fromCodePoint(text.codePointAt(at) ?? 0) : '';
}

function characterBefore(text: string, at: number): string {
  const pair = text.slice(Math.max(0, at - 2), at);
  return (pair.codePointAt(0) ?? 0) > 0xffff ? pair : pair.slice(-1);
}

function shortNameOf(codePoint: number): string {
  if (isSelector(codePoint)) return `VS${codePoint - (codePoint < 0xe0100 ? 0xfdff : 0xe00ef)}`;
  return CONTROLS[codePoint] ?? NAMES.get(codePoint)?.[0] ?? hexOf(codePoint);
}

function isSelector(codePoint: number): boolean {
  return (codePoint >= 0xfe00 && codePoint <= 0xfe0f) || (codePoint >= 0xe0100 && codePoint <= 0xe01ef);
}

function hexOf(codePoint: number): string {
  return `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** The abbreviations of the controls from U+0000 on. */
const CONTROLS =
  /* @__PURE__ */
  'NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(
    ' ',
  );

/** Abbreviations and names, as the Unicode standard has them. */
const NAMES: ReadonlyMap<number, readonly [short: string, name: string]> = new Map([
  [0x7f, ['DEL', 'delete']],
  [0x85, ['NEL', 'next line']],
  [0x9b, ['CSI', 'control sequence introducer']],
  [0xad, ['SHY', 'soft hyphen']],
  [0x34f, ['CGJ', 'combining grapheme joiner']],
  [0x61c, ['ALM', 'Arabic letter mark']],
  [0x115f, ['HCF', 'Hangul choseong filler']],
  [0x1160, ['HJF', 'Hangul jungseong filler']],
  [0x180e, ['MVS', 'Mongolian vowel separator']],
  [0x200b, ['ZWSP', 'zero width space']],
  [0x200c, ['ZWNJ', 'zero width non-joiner']],
  [0x200d, ['ZWJ', 'zero width joiner']],
  [0x200e, ['LRM', 'left-to-right mark']],
  [0x200f, ['RLM', 'right-to-left mark']],
  [0x2028, ['LS', 'line separator']],
  [0x2029, ['PS', 'paragraph separator']],
  [0x202a, ['LRE', 'left-to-right embedding']],
  [0x202b, ['RLE', 'right-to-left embedding']],
  [0x202c, ['PDF', 'pop directional formatting']],
  [0x202d, ['LRO', 'left-to-right override']],
  [0x202e, ['RLO', 'right-to-left override']],
  [0x2060, ['WJ', 'word joiner']],
  [0x2061, ['FA', 'function application']],
  [0x2062, ['IT', 'invisible times']],
  [0x2063, ['IS', 'invisible separator']],
  [0x2064, ['IP', 'invisible plus']],
  [0x2066, ['LRI', 'left-to-right isolate']],
  [0x2067, ['RLI', 'right-to-left isolate']],
  [0x2068, ['FSI', 'first strong isolate']],
  [0x2069, ['PDI', 'pop directional isolate']],
  [0x2800, ['BLANK', 'braille pattern blank']],
  [0x3164, ['HF', 'Hangul filler']],
  [0xfeff, ['BOM', 'zero width no-break space, or byte order mark']],
  [0xffa0, ['HWHF', 'halfwidth Hangul filler']],
]);
