import { expect, it } from 'vitest';
import { historyOf, keepingClient, textsOf } from '../../stage/history-site.ts';
import { at, bytes, openSite } from '../../stage/test-tree.ts';

const [A, B] = [at('/memories/a'), at('/memories/b')];

it.each([
  { from: A, to: B },
  { from: B, to: A },
])(
  'undo takes back a rename from $from, what was written there then, and the text at the new path',
  async (rename) => {
    const client = await keepingClient(await openSite());
    const { tree } = client;
    const { from, to } = rename;
    const actor = 'bad';
    await tree.create(from, bytes('ann'), { actor: 'ann' });
    await tree.rename(rename, { actor });
    await tree.overwrite(to, bytes('poison'), { actor });
    await tree.create(from, bytes('more poison'), { actor });
    const history = historyOf(client);
    expect(await history.undo({ writer: actor })).toMatchObject({ outcome: 'written', left: [] });
    expect(await textsOf(client)).toEqual({ [from]: 'ann' });
    expect(await history.undo({ writer: actor })).toMatchObject({ outcome: 'nothing', left: [] });
  },
);
