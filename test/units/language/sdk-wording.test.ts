import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ErrorDetails, MemoryError, type MemoryErrorCode } from '../../../src/errors.ts';
import { parseCommand } from '../../../src/language/command.ts';
import { insertAfterLine, replaceOnce } from '../../../src/language/edit.ts';
import { parseMemoryPath } from '../../../src/language/path.ts';
import { failureSentence } from '../../../src/language/sentences.ts';
import { successSentence } from '../../../src/language/success-sentences.ts';
import { editSnippet, viewFile } from '../../../src/language/view.ts';
import { viewDirectory } from './view-directory.ts';

/**
 * Answers what the SDK's tool runner hands to the model: the reply, or `Error: ` and the message of what was thrown.
 */
async function sdkReply(
  tool: BetaLocalFilesystemMemoryTool,
  input: { readonly command: string } & Readonly<Record<string, unknown>>,
): Promise<string> {
  try {
    const handlers = tool as unknown as Record<string, (input: unknown) => Promise<string>>;
    return (await handlers[input.command]?.call(tool, input)) ?? '';
  } catch (error) {
    return `Error: ${(error as Error).message}`;
  }
}

describe('the sdk wording', () => {
  let base: string;
  let tool: BetaLocalFilesystemMemoryTool;

  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), 'sdk-wording-'));
    tool = await BetaLocalFilesystemMemoryTool.init(base);
    await tool.create({ command: 'create', path: '/memories/a.txt', file_text: 'one\ntwo\ntwo\nfour\n' });
    await tool.create({ command: 'create', path: '/memories/dir/b.txt', file_text: 'x'.repeat(1_025) });
    await tool.create({ command: 'create', path: '/memories/long.txt', file_text: '\n'.repeat(1_000_000) });
  });

  afterAll(() => rm(base, { recursive: true, force: true }));

  it.each<[{ command: string } & Record<string, unknown>, MemoryErrorCode, ErrorDetails?]>([
    [{ command: 'view', path: '/memories/none' }, 'not_found'],
    [
      { command: 'view', path: '/memories/long.txt' },
      'limit_exceeded',
      { limit: 'lines', value: 1_000_001, max: 999_999 },
    ],
    [{ command: 'create', path: '/memories/a.txt', file_text: '' }, 'already_exists'],
    [{ command: 'create', path: '/memories/dir', file_text: '' }, 'is_directory'],
    [{ command: 'create', path: '/memories', file_text: '' }, 'invalid_command', { reason: 'root' }],
    [{ command: 'str_replace', path: '/memories/a.txt', old_str: 'five', new_str: '' }, 'no_match'],
    [
      { command: 'str_replace', path: '/memories/a.txt', old_str: 'two', new_str: '' },
      'ambiguous_match',
      { lines: [2, 3] },
    ],
    [{ command: 'str_replace', path: '/memories/dir', old_str: 'a', new_str: '' }, 'is_directory'],
    [{ command: 'str_replace', path: '/memories/none', old_str: 'a', new_str: '' }, 'not_found'],
    [{ command: 'insert', path: '/memories/dir', insert_line: 0, insert_text: '' }, 'is_directory'],
    [{ command: 'insert', path: '/memories/none', insert_line: 0, insert_text: '' }, 'not_found'],
    [
      { command: 'insert', path: '/memories/a.txt', insert_line: 9, insert_text: '' },
      'line_out_of_range',
      { lines: 5 },
    ],
    [{ command: 'delete', path: '/memories/none' }, 'not_found'],
    [{ command: 'delete', path: '/memories/' }, 'invalid_command', { reason: 'delete_root' }],
    [
      { command: 'rename', old_path: '/memories', new_path: '/memories/x' },
      'invalid_command',
      { reason: 'rename_root' },
    ],
    [{ command: 'rename', old_path: '/memories/none', new_path: '/memories/x' }, 'not_found'],
    [{ command: 'rename', old_path: '/memories/a.txt', new_path: '/memories/dir' }, 'already_exists'],
  ])('words the failure of %j as the SDK does', async (input, code, details = {}) => {
    const error = new MemoryError(code, 'for the operator', { details });
    expect(failureSentence({ error, input, wording: 'sdk' })).toBe(await sdkReply(tool, input));
  });

  it.each(['/etc/passwd', '/memories/../secret', '/memories/a/../../b'])(
    'refuses the path %s as the SDK does',
    async (path) => {
      const input = { command: 'view', path };
      const refusal = await sdkReply(tool, input);
      expect(() => parseCommand(input)).toThrow(
        expect.toSatisfy(
          (error: MemoryError) => failureSentence({ error, input, wording: 'sdk' }) === refusal,
          refusal,
        ),
      );
    },
  );

  it('shows files and edits as the SDK does', async () => {
    const given = '/memories/e.txt';
    const text = 'one\ntwo\nthree\nfour\n';
    await tool.create({ command: 'create', path: given, file_text: text });
    const input = { command: 'view', path: given, view_range: [2, -1] };
    expect(viewFile({ given, text, viewRange: [2, -1] })).toBe(await sdkReply(tool, input));

    const edit = { command: 'str_replace', path: given, old_str: 'three', new_str: '$& 3' } as const;
    const replacement = replaceOnce(text, edit.old_str, edit.new_str);
    const command = parseCommand(edit);
    if (command.command !== 'str_replace') throw new Error('not a str_replace');
    expect(successSentence(command, { snippet: editSnippet(replacement) })).toBe(await sdkReply(tool, edit));

    const insert = { command: 'insert', path: given, insert_line: 1, insert_text: 'new\n' };
    await sdkReply(tool, insert);
    const inserted = insertAfterLine(replacement.text, 1, 'new\n');
    expect(viewFile({ given, text: inserted })).toBe(await sdkReply(tool, { command: 'view', path: given }));
  });

  it('inserts where and what the SDK does, into an empty file as well', async () => {
    const path = '/memories/insert.txt';
    const text = fc
      .array(fc.constantFrom('a', 'é', '$&', '\n'), { maxLength: 8 })
      .map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(text, text, fc.nat(), async (before, inserted, seed) => {
        const line = seed % (before.split('\n').length + (before === '' || before.endsWith('\n') ? 0 : 1));
        await writeFile(join(base, path), before);
        await sdkReply(tool, { command: 'insert', path, insert_line: line, insert_text: inserted });
        expect(insertAfterLine(before, line, inserted)).toBe(await readFile(join(base, path), 'utf8'));
      }),
      {
        numRuns: 200,
        examples: [
          ['', 'c\n', 0],
          ['', 'l0', 0],
        ],
      },
    );
  });

  it('lists files as the SDK does, sizes of directories aside', async () => {
    const files = [{ path: parseMemoryPath('/memories/dir/b.txt'), size: 1_025 }];
    const ours = viewDirectory({ given: '/memories/dir', path: parseMemoryPath('/memories/dir'), files });
    const theirs = await sdkReply(tool, { command: 'view', path: '/memories/dir' });
    const withoutOwnSize = (reply: string): string => reply.replace(/\n[^\t]+\t/, '\n\t');
    expect(withoutOwnSize(ours)).toBe(withoutOwnSize(theirs));
  });
});
