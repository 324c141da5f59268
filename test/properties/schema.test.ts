import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../src/errors.ts';
import { COMMAND_NAMES, type CommandName, parseCommand } from '../../src/language/command.ts';
import { insertAfterLine } from '../../src/language/edit.ts';
import {
  commandInput,
  commandSchema,
  commandToolDefinitions,
  memoryToolDefinition,
} from '../../src/language/schema.ts';
import { viewFile } from '../../src/language/view.ts';

type Input = Readonly<Record<string, unknown>>;

const ajv = new AjvJsonSchemaValidator();
const accepts = (schema: object): ((input: unknown) => boolean) => {
  const validate = ajv.getValidator(schema);
  return (input) => validate(input).valid;
};
const acceptsCommand = accepts(commandSchema());
const acceptsOfMemoryTool = accepts(memoryToolDefinition().inputSchema);
const acceptsOf = new Map(
  commandToolDefinitions().map(({ command, inputSchema }) => [command, accepts(inputSchema)] as const),
);

/** As many lines as the generated numbers reach. */
const LINES = 'line\n'.repeat(20);

const paths = fc.constantFrom('/memories', '/memories/a.md', '/memories/b/c.txt');
const texts = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 5 }), paths);
const numbers = fc.oneof(fc.integer({ min: -3, max: 20 }), fc.constantFrom(1.5, -0.5));
const ranges = fc.array(fc.oneof({ weight: 5, arbitrary: numbers }, fc.constantFrom(null, '1')), {
  maxLength: 3,
});
const OF_FIELD: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  path: paths,
  old_path: paths,
  new_path: paths,
  file_text: texts,
  old_str: texts,
  new_str: texts,
  insert_text: texts,
  insert_line: numbers,
  view_range: ranges,
  recursive: fc.constant(true),
};
const anything = fc.jsonValue({ maxDepth: 2 });

/** A command with every field it may have, some taken away, some added, some of any value. */
const inputs: fc.Arbitrary<Input> = fc
  .tuple(
    fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...COMMAND_NAMES) }, anything),
    fc.record(
      Object.fromEntries(
        Object.entries(OF_FIELD).map(([field, values]) => [
          field,
          fc.oneof({ weight: 12, arbitrary: values }, anything),
        ]),
      ),
      { requiredKeys: [] },
    ),
    fc.boolean(),
  )
  .map(([command, fields, exact]): Input => {
    const known = FIELDS_OF.get(command);
    const kept = Object.entries(fields).filter(([field]) => !exact || !known || known.includes(field));
    return { command, ...Object.fromEntries(kept) };
  });

/** With the names that models send for others. */
const FIELDS_OF = new Map<unknown, readonly string[]>([
  ['view', ['path', 'view_range']],
  ['create', ['path', 'file_text']],
  ['str_replace', ['path', 'old_str', 'new_str']],
  ['insert', ['path', 'insert_line', 'insert_text', 'new_str']],
  ['delete', ['path']],
  ['rename', ['old_path', 'new_path', 'path']],
]);

/** Answers what the parser finds wrong, if anything. */
function problemOf(input: unknown): unknown {
  try {
    parseCommand(input);
    return undefined;
  } catch (error) {
    if (error instanceof MemoryError) return error.details['problem'] ?? error.code;
    throw error;
  }
}

/** Tells whether there can be a file on which the command is carried out. */
function canBeDone(input: Input): boolean {
  try {
    const command = parseCommand(input);
    if (command.command === 'view')
      viewFile({ given: 'a', text: LINES, ...('viewRange' in command && command) });
    if (command.command === 'insert') insertAfterLine(LINES, command.insertLine, command.insertText);
    return true;
  } catch (error) {
    if (error instanceof MemoryError) return false;
    throw error;
  }
}

/** The input by the documented names: three leniences of the parser are not for the schema. */
function documented({ command, path, new_str: newStr, view_range: range, ...rest }: Input): Input {
  const at = command === 'rename' && !('old_path' in rest) ? 'old_path' : 'path';
  const text = command === 'insert' && !('insert_text' in rest) ? 'insert_text' : 'new_str';
  return {
    command,
    ...rest,
    ...(path !== undefined && { [at]: path }),
    ...(newStr !== undefined && { [text]: newStr }),
    ...(range !== undefined && !(command === 'view' && range === null) && { view_range: range }),
  };
}

describe('the schema of the six commands', () => {
  it('accepts nothing that the parser refuses, but for what no schema can say', () => {
    const seen = new Set<CommandName>();
    fc.assert(
      fc.property(inputs, (input) => {
        if (!acceptsCommand(input)) return;
        seen.add(input['command'] as CommandName);
        expect([undefined, 'invalid_path']).toContain(problemOf(input));
      }),
      { numRuns: 3_000 },
    );
    expect([...seen].sort()).toEqual([...COMMAND_NAMES].sort());
  });

  it('accepts all that the parser accepts and a command can do, by the documented names', () => {
    const seen = new Set<CommandName>();
    fc.assert(
      fc.property(inputs, (input) => {
        if (problemOf(input) !== undefined || !canBeDone(input)) return;
        seen.add(input['command'] as CommandName);
        expect(acceptsCommand(documented(input))).toBe(true);
        expect(acceptsOfMemoryTool(documented(input))).toBe(true);
      }),
      { numRuns: 3_000 },
    );
    expect([...seen].sort()).toEqual([...COMMAND_NAMES].sort());
  });

  it('is the same as one tool, which leaves to the parser what a command lacks or has too much', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        if (acceptsCommand(input)) expect(acceptsOfMemoryTool(input)).toBe(true);
        if (!acceptsOfMemoryTool(input)) return;
        expect([undefined, 'invalid_path', 'missing', 'unexpected']).toContain(problemOf(input));
      }),
      { numRuns: 3_000 },
    );
  });

  it('is the same as six tools', () => {
    fc.assert(
      fc.property(fc.constantFrom(...COMMAND_NAMES), inputs, (name, { command, ...input }) => {
        const accepted = acceptsOf.get(name)?.(input);
        expect(accepted).toBe(acceptsCommand(commandInput(name, input)));
        expect(acceptsOf.get(name)?.({ command, ...input })).toBe(false);
      }),
      { numRuns: 3_000 },
    );
  });

  it.each([undefined, null, 'view', 7, [], [{ command: 'view', path: '/memories' }]])(
    'refuses %j, as the parser does',
    (input) => {
      expect(problemOf(input)).toBe('not_an_object');
      for (const refuses of [acceptsCommand, acceptsOfMemoryTool, ...acceptsOf.values()]) {
        expect(refuses(input)).toBe(false);
      }
    },
  );

  it('has a view_range of one line or two, the last of which may be the end', () => {
    const view = { command: 'view', path: '/memories/a.md' };
    const verdicts = [[1], [1, 10], [1, -1], [], [1, 2, 3], [1.5, 2], '1', [null]].map((range) =>
      acceptsCommand({ ...view, view_range: range }),
    );
    expect(verdicts).toEqual([true, true, true, false, false, false, false, false]);
  });
});
