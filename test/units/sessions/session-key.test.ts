import { beforeAll, describe, expect, it } from 'vitest';
import { createNames, type Names } from '../../../src/format/names.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import {
  pageId,
  parsePageId,
  parseProjectKey,
  parseSessionKey,
  projectPart,
  sessionPart,
  subagentsPart,
  type TranscriptId,
  transcriptId,
} from '../../../src/sessions/session-key.ts';
import { added, input } from '../../format/format-vectors.ts';

const invalid = expect.objectContaining({ code: 'invalid_command' });
/** The first 38 characters of an id, which name a project and a session. */
const SESSION = `-_09azAZ${'h'.repeat(30)}`;
const SUB = '-_09azAZ-_09azAZ';

describe('the key of a session', () => {
  it.each([
    { projectKey: 'p', sessionId: 's' },
    { projectKey: 'p', sessionId: 's', subpath: 'a/b' },
    { projectKey: 'x'.repeat(1_024), sessionId: 'x'.repeat(1_024), subpath: 'x'.repeat(1_024) },
  ])('is copied: %j', (key) => {
    expect(parseSessionKey(key)).toStrictEqual(key);
    expect(parseSessionKey({ ...key, more: 1 })).toStrictEqual(key);
    expect(parseSessionKey(key)).not.toBe(key);
  });

  it('has no subpath where that is undefined', () => {
    const key = { projectKey: 'p', sessionId: 's' };
    expect(parseSessionKey({ ...key, subpath: undefined })).toStrictEqual(key);
  });

  it.each([undefined, null, 'p', 1, [], () => ({}), {}])('is never %j', (key) => {
    expect(() => parseSessionKey(key)).toThrow(invalid);
  });

  const malformed = ['', 'x'.repeat(1_025), 'a\ud800', 0, null, true, ['a'], {}];

  it.each(['projectKey', 'sessionId', 'subpath'])('has no malformed %s, and says which it is', (field) => {
    const key = { projectKey: 'p', sessionId: 's', subpath: 'a' };
    for (const value of malformed) {
      expect(() => parseSessionKey({ ...key, [field]: value }), String(value)).toThrow(
        expect.objectContaining({ code: 'invalid_command', message: expect.stringContaining(field) }),
      );
    }
  });

  it.each([undefined, ...malformed])('never belongs to the project %j', (project) => {
    expect(() => parseProjectKey(project)).toThrow(
      expect.objectContaining({ code: 'invalid_command', message: expect.stringContaining('projectKey') }),
    );
  });

  it.each(['p', 'x'.repeat(1_024)])('may belong to the project %j', (project) => {
    expect(parseProjectKey(project)).toBe(project);
  });
});

describe('the ids of pages', () => {
  let names: Names;
  beforeAll(async () => {
    await loadSodium();
    names = createNames({ mode: 'encrypted', nameKey: input('NK') });
  });

  it.each(added.recordIds.sessions)('of $key are those of the vectors: page $page', ({ key, page, id }) => {
    expect(pageId(transcriptId(names, key), page)).toBe(id);
  });

  it.each(added.recordIds.sessions)('begin with the project and session of $key', ({ key, page, id }) => {
    const session = sessionPart(names, key);
    expect(session).toHaveLength(38);
    expect(projectPart(names, key.projectKey)).toBe(session.slice(0, 16));
    expect(id.startsWith(session)).toBe(true);
    expect(id.startsWith(subagentsPart(names, key))).toBe(key.subpath !== undefined);
    expect(subagentsPart(names, key)).toBe(`${session}s`);
    expect(parsePageId(id)).toStrictEqual({
      transcript: transcriptId(names, key),
      number: page,
      session,
      isMain: key.subpath === undefined,
    });
  });

  it('are other ones for another project, session or subagent', () => {
    const key = { projectKey: 'p', sessionId: 's', subpath: 'a' };
    const others = [
      { ...key, projectKey: 'q' },
      { ...key, sessionId: 't' },
      { ...key, subpath: 'b' },
      { ...key, subpath: undefined },
    ];
    expect(new Set([key, ...others].map((each) => transcriptId(names, each))).size).toBe(5);
  });

  it.each([
    [0, '00000000'],
    [7, '00000007'],
    [99_999_999, '99999999'],
  ])('end with the number of the page: %i', (number, digits) => {
    expect(pageId('t' as TranscriptId, number)).toBe(`t${digits}`);
  });

  it('are no more than have numbers', () => {
    expect(() => pageId('t' as TranscriptId, 100_000_000)).toThrow(
      expect.objectContaining({
        code: 'limit_exceeded',
        details: { limit: 'session_pages', value: 100_000_001, max: 100_000_000 },
      }),
    );
  });

  it.each([
    [`${SESSION}m01234567`, { transcript: `${SESSION}m`, number: 1_234_567, isMain: true }],
    [`${SESSION}s${SUB}00000010`, { transcript: `${SESSION}s${SUB}`, number: 10, isMain: false }],
  ])('are parsed: %s', (id, parsed) => {
    expect(parsePageId(id)).toStrictEqual({ ...parsed, session: SESSION });
  });

  it.each([
    ...['', `${SESSION}m`, `${SESSION}01234567`, `${SESSION}s01234567`, `${SESSION}m${SUB}01234567`],
    ...[`${SESSION}x01234567`, `${SESSION}m0123456`, `${SESSION}m012345678`, `${SESSION}m0123456a`],
    ...[`${SESSION.slice(1)}m01234567`, `a${SESSION}m01234567`, `.${SESSION.slice(1)}m01234567`],
    ...[`${SESSION}m01234567\n`, `\n${SESSION}m01234567`, `${SESSION}m01234567a`],
    ...[`${SESSION}s${SUB}a00000010`, `${SESSION}s${SUB.slice(1)}00000010`],
    `${SESSION}s.${SUB.slice(1)}00000010`,
  ])('are not %j', (id) => {
    expect(parsePageId(id)).toBeUndefined();
  });
});
