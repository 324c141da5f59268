import { describe, expect, it } from 'vitest';
import { COMMAND_NAMES, parseCommand } from '../../../src/language/command.ts';
import {
  commandInput,
  commandSchema,
  commandToolDefinitions,
  MEMORY_PROTOCOL,
  memoryToolDefinition,
} from '../../../src/language/schema.ts';
import { readSource } from '../../stage/source-file.ts';

const path = '/memories/a.md';

describe('memoryTool', () => {
  it('is one tool that names all six commands, what they do and which fields they take', () => {
    const { name, description, inputSchema } = memoryToolDefinition();
    expect(name).toBe('memory');
    for (const { command, description: sentence } of commandToolDefinitions()) {
      expect(description).toContain(`- ${command}: ${sentence}`);
    }
    expect(inputSchema.properties['command']).toMatchObject({ enum: [...COMMAND_NAMES] });
    expect(inputSchema.properties['path']?.description).toMatch(
      / Required for view, create, str_replace, insert, delete\.$/,
    );
    expect(inputSchema.properties['view_range']?.description).toMatch(/ Optional for view\.$/);
  });

  it("has no alternatives at its top, which models' APIs refuse", () => {
    expect(Object.keys(memoryToolDefinition().inputSchema)).toEqual([
      'type',
      'properties',
      'required',
      'additionalProperties',
    ]);
  });
});

describe('commandToolDefinitions', () => {
  it('are six tools in the order of the commands', () => {
    expect(commandToolDefinitions().map(({ name, command }) => [name, command])).toEqual(
      COMMAND_NAMES.map((command) => [`memory_${command}`, command]),
    );
  });
});

/** The fields of each command: those that it needs, and those that it may have. */
const FIELDS = {
  view: [['path'], ['view_range']],
  create: [['path', 'file_text'], []],
  str_replace: [['path', 'old_str'], ['new_str']],
  insert: [['path', 'insert_line', 'insert_text'], []],
  delete: [['path'], []],
  rename: [['old_path', 'new_path'], []],
} as const;

const SENTENCES = /^[A-Z-].{10,}\.$/s;

describe.each(COMMAND_NAMES)('the schema of %s', (command) => {
  const [required, optional] = FIELDS[command];

  it('has its fields, and no others', () => {
    const schema = commandToolDefinitions().find((each) => each.command === command)?.inputSchema;
    expect(schema).toMatchObject({ type: 'object', required, additionalProperties: false });
    expect(Object.keys(schema?.properties ?? {})).toEqual([...required, ...optional]);
  });

  it('is one of the alternatives of the whole, told apart by the command', () => {
    const schema = commandSchema().oneOf[COMMAND_NAMES.indexOf(command)];
    expect(schema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(schema?.required).toEqual(['command', ...required]);
    expect(Object.keys(schema?.properties ?? {})).toEqual(['command', ...required, ...optional]);
    expect(schema?.properties['command']).toEqual({
      type: 'string',
      description: 'What to do.',
      enum: [command],
    });
  });
});

describe('the fields of all commands', () => {
  const { properties } = memoryToolDefinition().inputSchema;

  it('are texts, but for a line and the lines of a view', () => {
    const types = Object.entries(properties).map(([name, { type }]) => [name, type]);
    expect(types).toEqual([
      ...['command', 'path'].map((name) => [name, 'string']),
      ['view_range', 'array'],
      ...['file_text', 'old_str', 'new_str'].map((name) => [name, 'string']),
      ['insert_line', 'integer'],
      ...['insert_text', 'old_path', 'new_path'].map((name) => [name, 'string']),
    ]);
    expect(properties['view_range']).toMatchObject({ items: { type: 'integer' }, minItems: 1, maxItems: 2 });
    expect(properties['insert_line']).toMatchObject({ minimum: 0 });
    expect(commandSchema().type).toBe('object');
    expect(memoryToolDefinition().inputSchema).toMatchObject({
      type: 'object',
      required: ['command'],
      additionalProperties: false,
    });
  });

  it.each([
    ['path', 'Required for view, create, str_replace, insert, delete.'],
    ['view_range', 'Optional for view.'],
    ['file_text', 'Required for create.'],
    ['old_str', 'Required for str_replace.'],
    ['new_str', 'Optional for str_replace.'],
    ['insert_line', 'Required for insert.'],
    ['insert_text', 'Required for insert.'],
    ['old_path', 'Required for rename.'],
    ['new_path', 'Required for rename.'],
  ])('%s tells for which commands it is: %s', (name, uses) => {
    const description = properties[name]?.description ?? '';
    expect(description.endsWith(` ${uses}`)).toBe(true);
    expect(description.slice(0, -uses.length - 1)).toMatch(SENTENCES);
  });

  it('and all tools and commands are described in sentences', () => {
    const tools = [memoryToolDefinition(), ...commandToolDefinitions()];
    for (const { description, inputSchema } of tools) {
      expect(description).toMatch(SENTENCES);
      for (const field of Object.values(inputSchema.properties)) {
        expect(field.description).toMatch(/^[A-Z].{8,}\.$/);
      }
    }
    const [head = '', ...lines] = memoryToolDefinition().description.split('\n');
    expect(head).toMatch(/^A memory of files below \/memories, .*:$/);
    expect(lines).toHaveLength(6);
    expect(lines.every((line) => SENTENCES.test(line))).toBe(true);
    expect(MEMORY_PROTOCOL).toMatch(
      /^You have a memory: files below \/memories .*secrets out of the memory\.$/s,
    );
  });
});

describe('the definitions', () => {
  it('are the caller’s own: a change of one reaches no other', () => {
    for (const make of [memoryToolDefinition, commandToolDefinitions, commandSchema]) {
      const [first, second] = [make(), make()];
      deepSpoil(first);
      expect(make()).toEqual(second);
    }
  });

  it('stand in a module that loads nothing else', () => {
    const { imports } = readSource('src/language/schema.ts');
    expect(imports.filter(({ typeOnly }) => !typeOnly)).toEqual([]);
  });
});

describe('commandInput', () => {
  it('adds the command of the tool', () => {
    expect(commandInput('view', { path, view_range: [1, 2] })).toEqual({
      command: 'view',
      path,
      view_range: [1, 2],
    });
    expect(commandInput('view', { path, command: 'view' })).toEqual({ command: 'view', path });
  });

  it.each([
    { command: 'delete', path },
    { command: null, path },
    { command: ['view'], path },
  ])('makes no command of the input %j of another one', (input) => {
    expect(() => parseCommand(commandInput('view', input))).toThrow(
      expect.objectContaining({ code: 'invalid_command' }),
    );
  });

  it.each([undefined, null, 'view', [path]])('passes on %j, which the memory refuses', (input) => {
    expect(commandInput('view', input)).toBe(input);
  });
});

function deepSpoil(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const key of Object.keys(value)) {
    deepSpoil(Reflect.get(value, key));
    Reflect.set(value, key, 'spoilt');
  }
}
