import { describe, expect, it } from 'vitest';
import { itemByItem } from '../../../../src/history/past/model.ts';
import { eventsInOrder, inOrder, versionsInOrder } from '../../../../src/history/past/order.ts';
import { pastOf, wordsOfLeave } from '../story.ts';

/** The events of a story in their order, with the time that counts for each. */
async function orderOf(story: string): Promise<readonly string[]> {
  const events = await itemByItem(eventsInOrder(await pastOf(story)));
  return events.map(
    ({ event, time }) =>
      `${time} ${'leave' in event ? wordsOfLeave(event.leave) : `${event.version.id} written`}`,
  );
}

describe('events', () => {
  it.each<readonly [claim: string, story: string, events: readonly string[]]>([
    ['of two files follow their clocks', 'v lies a 20; w lies b 10', ['10 w written', '20 v written']],
    ['of one time follow the names of paths', 'w lies b 10; v lies a 10', ['10 v written', '10 w written']],
    [
      'of one file follow its versions, whatever clocks say',
      'u kept a 10; v lies a 20 mtime 5 after u; w lies b 8',
      ['8 w written', '10 u written', '10 v written'],
    ],
    [
      'of one file follow its versions within a millisecond, before and behind another file',
      'v kept a 5; z lies a 5+1 mtime 5 after v; w lies b 5 mtime 5; m lies A 5',
      ['5 m written', '5 v written', '5 z written', '5 w written'],
    ],
    [
      'of a version at two places follow it at both',
      'u kept a 5; v lies a 5+1 mtime 5 after u; w lies b 5+2 mtime 5 after u',
      ['5 u written', '5 v written', '5 w written'],
    ],
    [
      'of a rename stand between the versions that it parts',
      'u kept a 1; u moved a 1 to b at 4; u kept b 4 mtime 1; v lies b 9 after u',
      ['1 u written', '4 u moved a to b', '9 v written'],
    ],
    [
      'of a rename by a clock that was behind follow what it moved',
      'u kept a 10; u moved a 10 to b at 4; u lies b 11 mtime 10',
      ['10 u written', '10 u moved a to b'],
    ],
    [
      'of a version whose facts are unknown are told as well',
      'm moved p 5 to q at 6; m deleted q 7',
      ['6 m moved p to q', '7 m deleted q'],
    ],
    ['that were undone are not among them', 'v lies a 1; v moved a 1 to b planned', ['1 v written']],
    [
      'at one path and time: the file that lay there leaves before another is created',
      'w kept a 5; w deleted a 5 at 5; v lies a 5',
      ['5 w written', '5 w deleted a', '5 v written'],
    ],
    [
      'at one path and time: the one that goes comes before the one that stays, in any order of names',
      'v kept a 5; v deleted a 5 at 5; w lies a 5',
      ['5 v written', '5 v deleted a', '5 w written'],
    ],
    [
      'at one path and time: those that both go do so one after the other',
      'z kept p 5; z deleted p 5 at 5; y kept p 5; y deleted p 5 at 5; x lies p 5',
      ['5 y written', '5 y deleted p', '5 z written', '5 z deleted p', '5 x written'],
    ],
    [
      'at one path and time: a file of before goes first',
      'b kept q 4; b deleted q 4 at 5; a kept p 5; a moved p 5 to q at 5; a lies q 5+1 mtime 5',
      ['4 b written', '5 a written', '5 b deleted q', '5 a moved p to q'],
    ],
    [
      'at one path and time: a file that comes and goes passes others on its way',
      'a kept p 5; a moved p 5 to q at 5; a moved q 5+1 to p at 5; a moved p 5+2 to q at 5; a lies q 5+3 mtime 5; b kept q 4; b deleted q 4 at 5',
      [
        '4 b written',
        '5 a written',
        '5 b deleted q',
        '5 a moved p to q',
        '5 a moved q to p',
        '5 a moved p to q',
      ],
    ],
    [
      'of files that follow each other into their places: the last one leaves first',
      'a kept p 5; a moved p 5 to q at 5; b kept q 5; b moved q 5 to r at 5; c kept r 5; c moved r 5 to s at 5; a lies q 6 mtime 5; b lies r 6 mtime 5; c lies s 6 mtime 5',
      [
        '5 a written',
        '5 b written',
        '5 c written',
        '5 c moved r to s',
        '5 b moved q to r',
        '5 a moved p to q',
      ],
    ],
    [
      'of three files that take the places of each other hold no file back',
      'a kept p 5; a moved p 5 to q at 5; b kept q 5; b moved q 5 to r at 5; c kept r 5; c moved r 5 to p at 5; a lies q 6 mtime 5; b lies r 6 mtime 5; c lies p 6 mtime 5',
      [
        '5 c written',
        '5 a written',
        '5 b written',
        '5 b moved q to r',
        '5 a moved p to q',
        '5 c moved r to p',
      ],
    ],
    [
      'of an unknown file that is renamed over another and replaced keep the paths free',
      'm moved p 5 to q at 5; n lies p 5; o deleted q 4 at 5',
      ['5 o deleted q', '5 m moved p to q', '5 n written'],
    ],
  ])('%s', async (_, story, events) => {
    expect(await orderOf(story)).toEqual(events);
    expect(await orderOf(story.split('; ').reverse().join('; '))).toEqual(events);
  });
});

it('versions are sorted as their events, and those that are not kept come first', async () => {
  const past = await pastOf('w lies b 3; u kept a 1; v lies a 2 after u; x lies c 9');
  expect(await itemByItem(versionsInOrder(past, ['w', 'lost', 'v', 'u', 'gone']))).toEqual([
    'lost',
    'gone',
    'u',
    'v',
    'w',
  ]);
});

it.each([0, 1, 511, 512, 513, 1_024, 1_300, 2_100])(
  '%i items are sorted as at once, equal ones as they came',
  async (count) => {
    const items = Array.from({ length: count }, (_, index) => ({ key: (index * 7_919) % 101, index }));
    const order = (a: { readonly key: number }, b: { readonly key: number }): number => a.key - b.key;
    expect(await itemByItem(inOrder(items, order))).toEqual(items.toSorted(order));
  },
);
