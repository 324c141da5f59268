import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { CreateKeyCommand, KMSClient } from '@aws-sdk/client-kms';
import { afterAll, describe, it } from 'vitest';
import { MOTO_CREDENTIALS } from '../../../infra/local/aws/resources.ts';
import { keepPrompt, RECITE_PROMPT } from '../../../infra/local/claude/note-taker.ts';
import { wordsOf } from '../../../infra/local/lambda/local-worker.ts';
import type { Pieces } from '../../../infra/local/pieces.ts';
import { amount, THOROUGH } from '../../runner/thorough.ts';
import { createChance } from '../../simulation/chance.ts';
import type { ProxiedRequest } from '../../stage/s3-proxy.ts';
import { startTestCloud, type TestCloud } from '../local-cloud.ts';
import { localPieces } from '../local-pieces.ts';

// The deployed bundle under AWS's own runtime client, with MinIO's token service and moto's queues: nothing of the
// library is replaced. A lease is the function's time and 30 s more, and is waited out: all run side by side.

const found = await localPieces();
// The queue's own timeout is far beyond the lease: the worker sets the one that counts.
const TIMES = { timeoutSeconds: 30, visibilitySeconds: 600 } as const;
const LEASE_IS_OVER_WITHIN = 240_000;

function pieces(): Pieces {
  if (found === undefined) throw new Error('the pieces are not there');
  return found;
}

function isPut({ method, url }: ProxiedRequest, cls: 'answers' | 'receipts'): boolean {
  return method === 'PUT' && url.includes(`/${cls}/`);
}

/** How many messages Claude was shown, request by request. */
function lengthsOf({ scenes }: TestCloud): readonly number[] {
  return scenes.map(({ messages }) => messages.length);
}

/** Conversations that Claude was asked to begin. */
function begun({ scenes }: TestCloud, words: string): number {
  const first = scenes.filter(({ messages }) => messages.length === 1);
  return first.filter((scene) => wordsOf(scene) === words).length;
}

afterAll(() => found?.[Symbol.asyncDispose]());

describe.skipIf(found === undefined).concurrent('A turn whose worker is killed', { timeout: 300_000 }, () => {
  it('between two steps asks Claude again for the one that was not kept', async ({ expect }) => {
    await using place = await startTestCloud(pieces(), TIMES);
    const prompt = keepPrompt('a word');
    let before = 0;
    const kill = place.killAt(place.s3, (request) => {
      before = place.scenes.length;
      return isPut(request, 'receipts') && before >= 2;
    });
    await place.cloud.send({ tenant: 'acme', turn: 'one', prompt });
    const replies = await place.replies(1, LEASE_IS_OVER_WITHIN);
    expect(kill.happened()).toBe(true);
    expect(begun(place, prompt)).toBe(1);
    const asked = lengthsOf(place);
    expect(asked.slice(0, 2)).toEqual([1, 3]);
    expect(asked[before]).toBe(3);
    expect(replies).toMatchObject([{ turn: 'one', text: 'I keep this: a word' }]);
    expect(await place.receipts('acme')).toEqual({ states: ['done'], answers: 1 });
  });

  it('buries a message that is no turn at its first attempt', async ({ expect }) => {
    await using place = await startTestCloud(pieces(), TIMES);
    await place.cloud.send('{"tenant":"acme","turn":"one"');
    await place.cloud.send({ tenant: 'acme', turn: 'two', prompt: keepPrompt('a word') });
    await expect
      .poll(() => place.cloud.take(place.cloud.resources.deadLetters), { timeout: 90_000, interval: 500 })
      .toEqual(['{"tenant":"acme","turn":"one"']);
    expect(place.lines.filter((line) => line.includes('"code":"invalid_command"'))).toHaveLength(1);
    expect(await place.replies(1)).toMatchObject([{ turn: 'two' }]);
  });

  // The usual run kills at one place: where a step is lost.
  if (!THOROUGH) return;

  it('between its answer and its receipt is answered without Claude when the lease is over', async ({
    expect,
  }) => {
    await using place = await startTestCloud(pieces(), TIMES);
    const prompt = keepPrompt('a word');
    let isStored = false;
    let before = 0;
    const kill = place.killAt(place.s3, (request) => {
      isStored ||= isPut(request, 'answers');
      before = place.scenes.length;
      return isStored && isPut(request, 'receipts');
    });
    await place.cloud.send({ tenant: 'acme', turn: 'one', prompt });
    const replies = await place.replies(1, LEASE_IS_OVER_WITHIN);
    expect(kill.happened()).toBe(true);
    expect(place.scenes).toHaveLength(before);
    expect(replies).toMatchObject([{ turn: 'one', text: 'I keep this: a word' }]);
    expect(await place.receipts('acme')).toEqual({ states: ['done'], answers: 1 });
  });

  it('before its answer is stored asks for nothing but its last step when the lease is over', async ({
    expect,
  }) => {
    await using place = await startTestCloud(pieces(), TIMES);
    const prompt = keepPrompt('a word');
    let before = 0;
    const kill = place.killAt(place.s3, (request) => {
      before = place.scenes.length;
      return isPut(request, 'answers');
    });
    await place.cloud.send({ tenant: 'acme', turn: 'one', prompt });
    const replies = await place.replies(1, LEASE_IS_OVER_WITHIN);
    expect(kill.happened()).toBe(true);
    expect(begun(place, prompt)).toBe(1);
    const asked = lengthsOf(place);
    expect(new Set(asked.slice(before))).toEqual(new Set([asked[before - 1]]));
    expect(replies).toEqual([
      { tenant: 'acme', turn: 'one', outcome: 'answered', text: 'I keep this: a word' },
    ]);
    expect(await place.receipts('acme')).toEqual({ states: ['done'], answers: 1 });
  });

  it('between its receipt and its reply is answered without Claude when the lease is over', async ({
    expect,
  }) => {
    await using place = await startTestCloud(pieces(), TIMES);
    const prompt = keepPrompt('a word');
    const kill = place.killAt(
      place.sqs,
      ({ headers }) => headers['x-amz-target'] === 'AmazonSQS.SendMessage',
    );
    await place.cloud.send({ tenant: 'acme', turn: 'one', prompt });
    const replies = await place.replies(1, LEASE_IS_OVER_WITHIN);
    expect(kill.happened()).toBe(true);
    expect(begun(place, prompt)).toBe(1);
    expect(replies).toMatchObject([{ turn: 'one', text: 'I keep this: a word' }]);
    expect(await place.receipts('acme')).toEqual({ states: ['done'], answers: 1 });
  });
});

describe.skipIf(found === undefined)('The table of the settings of tenants', { timeout: 300_000 }, () => {
  it('decides on the root key and the words of a tenant’s turns, and on nobody else’s', async ({
    expect,
  }) => {
    await using place = await startTestCloud(pieces(), TIMES);
    const { tenantTable, rootKeyArn } = place.cloud.resources;
    const connection = {
      region: pieces().minio.region,
      endpoint: pieces().moto,
      credentials: MOTO_CREDENTIALS,
    };
    const [dynamo, kms] = [new DynamoDBClient(connection), new KMSClient(connection)];
    const { KeyMetadata } = await kms.send(new CreateKeyCommand({}));
    const own = `aws-kms:${KeyMetadata?.Arn}`;
    const settings = { S: JSON.stringify({ rootKey: own, system: 'Answer in one sentence.' }) };
    await dynamo.send(
      new PutItemCommand({ TableName: tenantTable, Item: { tenant: { S: 'acme' }, settings } }),
    );
    for (const client of [dynamo, kms]) client.destroy();
    for (const tenant of ['acme', 'globex']) {
      await place.cloud.send({ tenant, turn: 'one', prompt: keepPrompt(`a word of ${tenant}`) });
    }
    const replies = await place.replies(2);
    expect(new Set(replies.map(({ outcome }) => outcome))).toEqual(new Set(['answered']));
    const systems = (tenant: string) =>
      place.scenes
        .filter(({ messages }) => JSON.stringify(messages).includes(`a word of ${tenant}`))
        .map(({ system }) => JSON.stringify(system).includes('Answer in one sentence.'));
    expect(new Set(systems('acme'))).toEqual(new Set([true]));
    expect(new Set(systems('globex'))).toEqual(new Set([false]));
    const keyrings = (await place.objects()).filter(({ key }) => key.includes('/keyrings/'));
    const wrappedBy = keyrings.map(({ key, body }) => [
      key.split('/').at(-1),
      [own, `aws-kms:${rootKeyArn}`].filter((id) => Buffer.from(body).includes(id)),
    ]);
    expect(Object.fromEntries(wrappedBy)).toEqual({ acme: [own], globex: [`aws-kms:${rootKeyArn}`] });
  });
});

describe.skipIf(found === undefined).concurrent('Many tenants', { timeout: 400_000 }, () => {
  const TENANTS = Array.from({ length: amount({ usual: 5, thorough: 20 }) }, (_, i) => `tenant-${i}`);
  const TURNS_EACH = amount({ usual: 4, thorough: 10 });
  const DUPLICATES = amount({ usual: 6, thorough: 40 });

  it('have turns in any order, some delivered twice, each answered once and by its own memory', async ({
    expect,
  }) => {
    const chance = createChance('cloud 1');
    await using place = await startTestCloud(pieces(), {
      timeoutSeconds: 30,
      visibilitySeconds: 60,
      maxConcurrency: 4,
    });
    const canaries = new Map<string, string[]>();
    const turns = TENANTS.flatMap((tenant) =>
      Array.from({ length: TURNS_EACH }, (_, i) => {
        const turn = `turn-${i}`;
        if (i % 2 === 1) return { tenant, turn, prompt: `${RECITE_PROMPT} (${tenant}, ${turn})` };
        const canary = `canary-${Buffer.from(chance.bytes(12)).toString('hex')}`;
        canaries.set(tenant, [...(canaries.get(tenant) ?? []), canary]);
        return { tenant, turn, prompt: keepPrompt(canary) };
      }),
    );
    const twice = Array.from({ length: DUPLICATES }, () => chance.pick(turns));
    const messages = [...turns, ...twice]
      .map((message) => ({ message, place: chance.fraction() }))
      .sort((a, b) => a.place - b.place);
    for (const { message } of messages) await place.cloud.send(message);
    const replies = await place.replies(messages.length, 300_000);

    const byTurn = Map.groupBy(replies, ({ tenant, turn }) => `${tenant} ${turn}`);
    expect(byTurn.size).toBe(turns.length);
    for (const same of byTurn.values()) expect(new Set(same.map(({ text }) => text)).size).toBe(1);
    expect(replies.filter(({ outcome }) => outcome !== 'answered')).toEqual([]);
    for (const { prompt } of turns) expect(begun(place, prompt), prompt).toBe(1);

    // A turn that was answered gets the same answer again, by whatever process, and what was kept is kept.
    const asked = place.scenes.length;
    const again = TENANTS.map((tenant) => chance.pick(turns.filter((turn) => turn.tenant === tenant)));
    for (const message of again) await place.cloud.send(message);
    await place.replies(messages.length + again.length);
    expect(place.scenes).toHaveLength(asked);
    const everything = TENANTS.map((tenant) => ({
      tenant,
      turn: 'last',
      prompt: `${RECITE_PROMPT} (${tenant})`,
    }));
    for (const message of everything) await place.cloud.send(message);
    const all = await place.replies(messages.length + again.length + everything.length);
    for (const { tenant, text } of all.filter(({ turn }) => turn === 'last')) {
      for (const canary of canaries.get(tenant) ?? []) expect(text).toContain(canary);
    }

    const foreign = (tenant: string): readonly string[] =>
      [...canaries].flatMap(([owner, own]) => (owner === tenant ? [] : own));
    const tells = (text: string, words: readonly string[]): boolean =>
      words.some((word) => text.includes(word));
    expect(all.filter(({ tenant, text }) => tells(text, foreign(tenant)))).toEqual([]);
    const shown = place.scenes.map((scene) => canariesIn(JSON.stringify(scene.messages)));
    const owners = shown.map((words) =>
      TENANTS.filter((tenant) => tells(words.join(), canaries.get(tenant) ?? [])),
    );
    expect(owners.filter((of) => of.length > 1)).toEqual([]);
    const objects = await place.objects();
    expect(objects.length).toBeGreaterThan(2 * turns.length);
    const secrets = [...[...canaries.values()].flat(), 'notes.md', 'Please keep'];
    const readable = objects.filter(({ key, body }) =>
      tells(`${key}\n${Buffer.from(body).toString('latin1')}`, secrets),
    );
    expect(readable.map(({ key }) => key)).toEqual([]);
    expect(place.lines.filter((line) => tells(line, secrets))).toEqual([]);
    expect(await place.cloud.take(place.cloud.resources.deadLetters)).toEqual([]);
    for (const tenant of TENANTS) {
      const states = Array.from({ length: TURNS_EACH + 1 }, () => 'done');
      expect(await place.receipts(tenant)).toEqual({ states, answers: TURNS_EACH + 1 });
    }
  });
});

function canariesIn(text: string): readonly string[] {
  return text.match(/canary-[0-9a-f]{24}/g) ?? [];
}
