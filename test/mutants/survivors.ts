/** Says why a mutant that no test kills may stay. */
export type Reason =
  /** Behaves as the code does, whatever is asked. */
  | 'equivalent'
  /** Changes what a call costs, and nothing else. */
  | 'cost only'
  /** Needs a value that the types shut out. */
  | 'unreachable by type';

/** A mutant that stays. A line that is gone takes its row along: `mutants.test.ts` looks. */
export interface Survivor {
  readonly file: string;
  /** The mutator's name, as Stryker gives it. */
  readonly mutator: string;
  /** The line in which the mutant begins, without the spaces around it. */
  readonly line: string;
  /** The text that stands in its place; without it every mutant of this mutator in this line is meant. */
  readonly becomes?: string;
  readonly reason: Reason;
  /** One sentence that lets a reader agree. */
  readonly why: string;
}

export const SURVIVORS: readonly Survivor[] = [
  {
    file: 'src/format/chunks.ts',
    mutator: 'ConditionalExpression',
    line: 'if (innerKey !== undefined && isLong(plain)) {',
    becomes: 'false',
    reason: 'cost only',
    why: 'Every box that the cipher of Node opens is opened by libsodium, too, more slowly.',
  },
  {
    file: 'src/format/chunks.ts',
    mutator: 'ConditionalExpression',
    line: 'if (length < LONG_BYTES || !hasNativeBoxes()) return undefined;',
    reason: 'cost only',
    why: 'The key of native boxes is derived for nothing where no chunk is long, and wiped.',
  },
  {
    file: 'src/format/chunks.ts',
    mutator: 'BooleanLiteral',
    line: 'let isAuthentic = true;',
    becomes: 'false',
    reason: 'equivalent',
    why: 'Every content has a chunk, even an empty one, and each chunk sets it.',
  },
  {
    file: 'src/format/names.ts',
    mutator: 'ConditionalExpression',
    line: 'if (remembered !== undefined) return remembered;',
    becomes: 'false',
    reason: 'cost only',
    why: 'A path that was encoded before is encoded again, to the same text.',
  },
  {
    file: 'src/format/names.ts',
    mutator: 'CallExpression',
    line: 'encoded.set(path, text);',
    becomes: ';',
    reason: 'cost only',
    why: 'A path that is not remembered is encoded again, to the same text.',
  },
  {
    file: 'src/format/names.ts',
    mutator: 'ConditionalExpression',
    line: 'const last = index === segments.length - 1;',
    becomes: 'false',
    reason: 'cost only',
    why: 'The file is remembered as if it were a directory; its text is the same.',
  },
  {
    file: 'src/format/names.ts',
    mutator: 'ArithmeticOperator',
    line: 'const last = index === segments.length - 1;',
    reason: 'cost only',
    why: 'The file is remembered as if it were a directory; its text is the same.',
  },
  {
    file: 'src/format/names.ts',
    mutator: 'ConditionalExpression',
    line: 'if (last) {',
    becomes: 'false',
    reason: 'cost only',
    why: 'The file is remembered as if it were a directory; its text is the same.',
  },
  {
    file: 'src/format/names.ts',
    mutator: 'ConditionalExpression',
    line: 'if (index < texts.length - 1) directory = known ?? directories.enter(directory, segment, text);',
    becomes: 'true',
    reason: 'cost only',
    why: 'The file is remembered as if it were a directory; its text is the same.',
  },
];
