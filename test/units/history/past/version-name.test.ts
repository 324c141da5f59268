import { expect, it } from 'vitest';
import { beginningOf, chosen } from '../../../../src/history/past/version-name.ts';
import { pastOf } from '../story.ts';

const STORY = 'abcdX lies a 1; abcdY lies b 2; efgh lies c 3; Xefgh lies d 4';

it.each([
  ['abcdX', 'abcdX'],
  ['abcdY', 'abcdY'],
  ['efgh', 'efgh'],
  ['Xefg', 'Xefgh'],
])('%s is the beginning of %s alone', async (beginning, id) => {
  expect(chosen(await pastOf(STORY), beginning)).toMatchObject({ id });
});

it('several versions that begin so are counted', async () => {
  const past = await pastOf(STORY);
  expect(() => chosen(past, 'abcd')).toThrow(
    expect.objectContaining({
      code: 'invalid_command',
      message: expect.stringMatching(/^2 versions begin so/),
    }),
  );
});

it('no version that begins so is not found', async () => {
  const past = await pastOf(STORY);
  expect(() => chosen(past, 'fgh')).toThrow(expect.objectContaining({ code: 'not_found' }));
});

it.each(['abcd', 'A-_9', 'a'.repeat(22)])('%s may begin the name of a version', (beginning) => {
  expect(beginningOf(beginning)).toBe(beginning);
});
