import { beforeAll, describe, expect, it } from 'vitest';
import { QUESTIONS, type QuestionName } from '../../../src/page/protocol.ts';
import type { Questions } from '../../../src/page/server/answer-questions.ts';
import { openTenantView } from '../../../src/page/server/tenant-view.ts';
import { openAgent } from '../../stage/page-site.ts';

const path = '/memories/a.md';
const asking = { signal: AbortSignal.abort(), send: async () => {} };
const names = Object.keys(QUESTIONS) as readonly QuestionName[];

/** A right value and wrong ones for each kind of field, the wrong ones with how they are refused. */
const VALUES: Readonly<Record<string, { right: unknown; wrong: readonly unknown[]; message: string }>> = {
  path: { right: path, wrong: [undefined, null, 1, ['/memories']], message: ' must be a text.' },
  text: { right: 'a', wrong: [undefined, 1, {}], message: ' must be a text.' },
  version: { right: null, wrong: [undefined, 1, []], message: ' must be a text.' },
  null: { right: null, wrong: [undefined], message: ' must be a text.' },
  paths: {
    right: [path],
    wrong: [undefined, null, path, { 0: path }, Array.from({ length: 201 }, () => path)],
    message: ' must be a list of up to 200 paths.',
  },
  listed: {
    right: [[path, 'v']],
    wrong: [undefined, null, path, [path], [[path]], [[path, null]], [[path, 'v', 'w']]],
    message: ' must be a list of paths with their versions.',
  },
};

let questions: Questions;
beforeAll(async () => {
  await using agent = await openAgent();
  await using view = await openTenantView(agent.options, { lineOf: String, canWrite: true });
  ({ questions } = view);
});

describe('the questions of the page', () => {
  it('are those that the protocol has', () => {
    expect(Object.keys(questions).sort()).toEqual([...names].sort());
  });

  it.each(names)('%s takes the fields of its forms, each of its kind, and no others', async (name) => {
    for (const form of QUESTIONS[name].forms) {
      const right = Object.fromEntries(
        Object.entries(form).map(([field, kind]) => [field, VALUES[kind]?.right]),
      );
      await expect(questions[name]?.({ ...right, extra: 1 }, asking)).rejects.toMatchObject({
        code: 'invalid_command',
        message: 'extra is no field of this question.',
      });
      for (const [field, kind] of Object.entries(form)) {
        const { wrong = [], message = '' } = VALUES[kind] ?? {};
        for (const value of wrong) {
          await expect(questions[name]?.({ ...right, [field]: value }, asking)).rejects.toMatchObject({
            code: 'invalid_command',
            message: expect.stringContaining(message),
          });
        }
      }
    }
  });

  it('say which field is wrong', async () => {
    for (const [name, given, message] of [
      ['file', {}, 'path must be a text.'],
      ['writers', { paths: [1] }, 'path must be a text.'],
      ['plan', {}, 'at must be a text.'],
      ['plan', { undo: 1 }, 'undo must be a text.'],
      ['plan', { undo: 'a', at: 'b' }, 'at is no field of this question.'],
      ['carryOut', { undo: 'a' }, 'digest must be a text.'],
      ['carryOut', { undo: 1, digest: 'a' }, 'undo must be a text.'],
      ['remove', { path }, 'version must be a text.'],
      ['remove', { path, version: null }, 'files must be a list of paths with their versions.'],
      ['remove', { path, version: 'a', files: [] }, 'files is no field of this question.'],
      ['rename', {}, 'to must be a text.'],
      ['write', { path, text: null, version: null }, 'text must be a text.'],
      ['restore', { path, version: 1 }, 'base must be a text.'],
    ] as const) {
      await expect(questions[name]?.(given, asking)).rejects.toMatchObject({
        code: 'invalid_command',
        message,
      });
    }
    await expect(questions['file']?.({ path: '/etc' }, asking)).rejects.toMatchObject({
      code: 'invalid_path',
    });
  });
});
