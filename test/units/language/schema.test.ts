import { describe, expect, it } from 'vitest';
import { COMMAND_NAMES, parseCommand } from '../../../src/language/command.ts';
import {
  commandInput,
  commandSchema,
  commandToolDefinitions,
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
