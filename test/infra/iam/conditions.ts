import { matchesPattern, substitute } from './patterns.ts';

/**
 * The facts that are known of a request: condition keys in lower case, with their values. A key of one value may hold
 * several here, where AWS leaves open which one counts: the simulator then takes any.
 */
export type Context = ReadonlyMap<string, readonly string[]>;

/** One operator on one key. */
export interface ConditionBlock {
  readonly quantifier: 'ForAllValues' | 'ForAnyValue' | undefined;
  readonly operator: Operator;
  readonly key: string;
  readonly values: readonly string[];
}

type Operator = keyof typeof OPERATORS;
type Test = (value: string, expected: string) => boolean;

/** `negated`: no expected value may match, and an absent key passes. */
const OPERATORS = {
  StringEquals: { test: (value, expected) => value === expected, negated: false },
  StringNotEquals: { test: (value, expected) => value === expected, negated: true },
  StringLike: { test: matchesPattern, negated: false },
  StringNotLike: { test: matchesPattern, negated: true },
  ArnEquals: { test: matchesPattern, negated: false },
  ArnNotEquals: { test: matchesPattern, negated: true },
  Bool: { test: (value, expected) => value.toLowerCase() === expected.toLowerCase(), negated: false },
  NumericLessThan: { test: (value, expected) => Number(value) < Number(expected), negated: false },
  Null: { test: () => false, negated: false },
} as const satisfies Readonly<Record<string, { readonly test: Test; readonly negated: boolean }>>;

/** Keys with a list of values; an operator on them says how many must match. */
const LISTS = ['aws:tagkeys', 'kms:encryptioncontextkeys'];
const SINGLES = [
  /^aws:(?:principalarn|securetransport|(?:principal|request)tag\/[\w-]+)$/,
  /^s3:(?:prefix|tlsversion|if-match|if-none-match|objectcreationoperation)$/,
  /^kms:(?:encryptioncontext:[\w-]+|calleraccount|viaservice)$/,
];

/** @throws Error for an operator or key that the simulator does not judge. */
export function parseConditions(blocks: Readonly<Record<string, unknown>>): readonly ConditionBlock[] {
  return Object.entries(blocks).flatMap(([name, keys]) => {
    const [operator = '', quantifier] = name.split(':').reverse();
    if (!Object.hasOwn(OPERATORS, operator)) throw new Error(`unknown operator: ${name}`);
    if (quantifier !== undefined && quantifier !== 'ForAllValues' && quantifier !== 'ForAnyValue') {
      throw new Error(`unknown operator: ${name}`);
    }
    return Object.entries(keys as Readonly<Record<string, unknown>>).map(([key, value]) => {
      checkKey(key.toLowerCase(), operator, quantifier);
      const list: readonly unknown[] = Array.isArray(value) ? value : [value];
      if (list.length === 0) throw new Error(`${name} of ${key} is empty`);
      return { quantifier, operator: operator as Operator, key: key.toLowerCase(), values: list.map(String) };
    });
  });
}

function checkKey(key: string, operator: string, quantifier: string | undefined): void {
  const isList = LISTS.includes(key);
  if (!isList && !SINGLES.some((pattern) => pattern.test(key))) throw new Error(`unknown key: ${key}`);
  if (operator !== 'Null' && isList !== (quantifier !== undefined)) {
    throw new Error(`${key} ${isList ? 'is a list and needs' : 'is one value and takes no'} quantifier`);
  }
}

/** Tells whether all blocks hold. `undefined`: one names a variable that the request does not define. */
export function conditionsHold(blocks: readonly ConditionBlock[], context: Context): boolean | undefined {
  let holds = true;
  for (const block of blocks) {
    const expected = block.values.map((value) => substitute(value, context));
    if (expected.includes(undefined)) return undefined;
    if (!blockHolds(block, expected as readonly string[], context.get(block.key))) holds = false;
  }
  return holds;
}

function blockHolds(
  { operator, quantifier }: ConditionBlock,
  expected: readonly string[],
  values: readonly string[] | undefined,
): boolean {
  if (operator === 'Null') return expected.every((each) => (each === 'true') === (values === undefined));
  const { test, negated } = OPERATORS[operator];
  if (values === undefined) return negated || quantifier === 'ForAllValues';
  const passes = (value: string) => expected.some((each) => test(value, each)) !== negated;
  return quantifier === 'ForAllValues' ? values.every(passes) : values.some(passes);
}
