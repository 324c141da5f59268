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
    file: 'src/keys/key-search.ts',
    mutator: 'ConditionalExpression',
    line: 'if (missing.size >= REMEMBERED && first !== undefined) missing.delete(first);',
    becomes: 'true',
    reason: 'equivalent',
    why: 'A set of 256 ids has a first one.',
  },
  {
    file: 'src/keys/keyring-cache.ts',
    mutator: 'ConditionalExpression',
    line: 'if (opened !== undefined) forget(opened.keyring);',
    becomes: 'true',
    reason: 'equivalent',
    why: 'A load that was abandoned and found nothing fails for nobody, whatever it fails with.',
  },
  {
    file: 'src/keys/keyring-cache.ts',
    mutator: 'ConditionalExpression',
    line: 'if (live === undefined || isWithin(live.since, Math.max(ttlMs, LOOK_MS))) return;',
    becomes: 'false',
    reason: 'equivalent',
    why: 'Keys of a keyring that was dropped throw before they ask whether they may seal.',
  },
  {
    file: 'src/keys/keyring-cache.ts',
    mutator: 'BooleanLiteral',
    line: 'start(false)',
    becomes: 'true',
    reason: 'equivalent',
    why: 'A keyring that this process has seen is never created again.',
  },
  {
    file: 'src/keys/keyring-editor.ts',
    mutator: 'ConditionalExpression',
    line: "return settled !== 'replaced' && 'etag' in settled ? settled.etag : undefined;",
    becomes: 'true',
    reason: 'equivalent',
    why: 'An answer without an ETag has undefined in its place.',
  },
  {
    file: 'src/format/chunks.ts',
    mutator: 'ConditionalExpression',
    line: 'if (length < LONG_BYTES) return undefined;',
    becomes: 'false',
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
    file: 'src/format/object.ts',
    mutator: 'EqualityOperator',
    line: 'const bound = nextBound(clock, after > wrapped.bound ? after : wrapped.bound);',
    becomes: 'after >= wrapped.bound',
    reason: 'equivalent',
    why: 'Of two equal bounds either one is taken.',
  },
  {
    file: 'src/format/wrap.ts',
    mutator: 'EqualityOperator',
    line: 'return next > MAX_BOUND ? MAX_BOUND : next;',
    becomes: 'next >= MAX_BOUND',
    reason: 'equivalent',
    why: 'A bound that is the greatest one is answered either way.',
  },
  {
    file: 'src/format/keyring-bytes.ts',
    mutator: 'EqualityOperator',
    line: 'if (begin > bytes.length) throw keyringRefusal();',
    becomes: 'begin >= bytes.length',
    reason: 'equivalent',
    why: 'Where nothing stands behind a length, the keyring is refused for its end, too.',
  },
  {
    file: 'src/store/failures.ts',
    mutator: 'ConditionalExpression',
    line: 'network: code === undefined ? undefined : networkFaultOf(code),',
    becomes: 'false',
    reason: 'equivalent',
    why: 'No fault of a connection has `undefined` for its code.',
  },
  {
    file: 'src/store/folder.ts',
    mutator: 'EqualityOperator',
    line: 'if (!startAfter.startsWith(key) && compareUtf8(key, startAfter) <= 0) continue;',
    becomes: 'compareUtf8(key, startAfter) < 0',
    reason: 'equivalent',
    why: 'A key that equals the beginning of the listing also begins it, and was let through before.',
  },
  {
    file: 'src/store/guarded-delete.ts',
    mutator: 'ArrayDeclaration',
    line: 'const results: R[] = [];',
    reason: 'equivalent',
    why: 'Each batch has targets, and the result of each target is set.',
  },
  {
    file: 'src/store/remove-versions.ts',
    mutator: 'ArrayDeclaration',
    line: 'let unlisted: unknown[] = [];',
    reason: 'equivalent',
    why: 'Each walk begins with an empty list, and there is at least one walk.',
  },
  {
    file: 'src/store/remove-versions.ts',
    mutator: 'UnaryOperator',
    line: 'for (let before = -1; settled.size !== before; ) {',
    reason: 'equivalent',
    why: 'Nothing is settled before the first walk, which any number but 0 begins.',
  },
  {
    file: 'src/store/settle.ts',
    mutator: 'ConditionalExpression',
    line: "return mode !== 'create' && found.etag === mode.ifMatch ? 'base' : 'replaced';",
    becomes: 'true',
    reason: 'unreachable by type',
    why: 'Only the type needs the question: what was found has an ETag, and a create names none.',
  },
  {
    file: 'src/store/settle.ts',
    mutator: 'StringLiteral',
    line: "return mode !== 'create' && found.etag === mode.ifMatch ? 'base' : 'replaced';",
    becomes: '""',
    reason: 'unreachable by type',
    why: 'Only the type needs the question: what was found has an ETag, and a create names none.',
  },
  {
    file: 'src/store/settle.ts',
    mutator: 'StringLiteral',
    line: "if (isResentConflict(error)) return 'met_condition';",
    becomes: '""',
    reason: 'equivalent',
    why: 'The caller asks for the other two words alone, and takes any other for this one.',
  },
  {
    file: 'src/tool/command-order.ts',
    mutator: 'StringLiteral',
    line: "return path === given || mode === 'read' ? { path, mode } : { path, mode: 'write' };",
    becomes: '""',
    reason: 'equivalent',
    why: 'A claim that neither reads nor edits waits as a write does.',
  },
  {
    file: 'src/tree/admission/admission.ts',
    mutator: 'ConditionalExpression',
    line: "if (typeof verdict !== 'object' || verdict === null) return false;",
    becomes: 'false',
    reason: 'equivalent',
    why: 'The next line throws for null, which refuses the write in the same words.',
  },
  {
    file: 'src/tree/admission/admission.ts',
    mutator: 'OptionalChaining',
    line: "return Array.isArray(given) && given.every((finding) => typeof finding?.rule === 'string');",
    reason: 'equivalent',
    why: 'A finding without properties throws, which refuses the write in the same words.',
  },
  {
    file: 'src/tree/sightings.ts',
    mutator: 'ArrayDeclaration',
    line: 'const versions = known.get(key) ?? [];',
    reason: 'equivalent',
    why: 'No version has the identity of the text that would stand in the list of an unknown key.',
  },
  {
    file: 'src/tree/sightings.ts',
    mutator: 'ConditionalExpression',
    line: 'if (superseded !== undefined && superseded < since) throw putBack();',
    becomes: 'true',
    reason: 'equivalent',
    why: 'An undefined moment is before no other.',
  },
  {
    file: 'src/tree/sightings.ts',
    mutator: 'EqualityOperator',
    line: 'if (superseded !== undefined && superseded < since) throw putBack();',
    becomes: 'superseded <= since',
    reason: 'equivalent',
    why: 'Each request and each sighting has a moment of its own.',
  },
  {
    file: 'src/tree/sightings.ts',
    mutator: 'EqualityOperator',
    line: 'if (version.identity === met.by || version.firstSeen >= met.since) continue;',
    becomes: 'version.firstSeen > met.since',
    reason: 'equivalent',
    why: 'Each request and each sighting has a moment of its own.',
  },
  {
    file: 'src/tree/records/record-values.ts',
    mutator: 'ConditionalExpression',
    line: "return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;",
    becomes: 'true',
    reason: 'equivalent',
    why: '`Number.isSafeInteger` answers false for everything that is no number.',
  },
  {
    file: 'src/tree/records/record-values.ts',
    mutator: 'ConditionalExpression',
    line: 'return time !== undefined && time <= MOST_DATE_MS ? time : undefined;',
    becomes: 'true',
    reason: 'equivalent',
    why: 'An undefined time is not below the bound.',
  },
  {
    file: 'src/tree/records/sealed-record.ts',
    mutator: 'BlockStatement',
    line: '} catch {',
    reason: 'equivalent',
    why: 'A function that ends without a value answers undefined, too.',
  },
  {
    file: 'src/tree/records/sealed-record.ts',
    mutator: 'StringLiteral',
    line: "return parseFields(decodeText(content) ?? '');",
    reason: 'equivalent',
    why: 'Neither text is JSON, so that the content has no fields.',
  },
  {
    file: 'src/tree/list-parts.ts',
    mutator: 'LogicalOperator',
    line: 'if (from === undefined || reached === undefined || reached <= from) return [last];',
    reason: 'equivalent',
    why: 'An undefined position makes the number of parts NaN, so that only the first one begins.',
  },
  {
    file: 'src/format/names.ts',
    mutator: 'StringLiteral',
    line: "let top = directoryOf('', '', ROOT_TWEAK);",
    reason: 'equivalent',
    why: 'Nobody reads the name and the text of the root, which is found by no name.',
  },
  {
    file: 'src/format/names.ts',
    mutator: 'StringLiteral',
    line: "top = directoryOf('', '', ROOT_TWEAK);",
    reason: 'equivalent',
    why: 'Nobody reads the name and the text of the root, which is found by no name.',
  },
];
