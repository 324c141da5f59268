import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { ObjectKey } from '../src/format/object-keys.ts';
import { handSigned } from './hand-signed.ts';
import type { Lab } from './lab.ts';
import { costOf, inTurns } from './rounds.ts';
import { sideBySide } from './side-by-side.ts';
import type { FindSites, Site } from './sites.ts';
import { plainStore } from './stores.ts';

const HAND = 'signed by hand';
const OURS = "the library's client";
const SDK = 'AWS SDK';
const BYTES = 2_048;

/** Copies every object under a new name. */
type Copy = (from: string, to: string) => Promise<unknown>;

/** A GET and a PUT for each of 500 objects of 2 KiB, 32 at once: three roads to the same server. */
export async function wire(lab: Lab, findSites: FindSites): Promise<void> {
  const sites = await findSites(lab);
  const names = Array.from({ length: lab.isQuick ? 100 : 500 }, (_, at) => String(at));
  for (const site of sites?.all ?? []) {
    const bucket = (await sites?.bucket()) ?? '';
    using hand = handSigned(site.server, bucket);
    await sideBySide(names, (name) => hand.put(`from/${name}`, new Uint8Array(BYTES)));
    const copies: Readonly<Record<string, Copy>> = {
      [HAND]: async (from, to) => hand.put(to, await hand.get(from)),
      [OURS]: await ourCopy(lab, site, bucket),
      [SDK]: sdkCopy(lab, site, bucket),
    };
    const rounds = await inTurns(Object.keys(copies), lab.isQuick ? 3 : 7, (contestant, round) =>
      costOf(() =>
        sideBySide(
          names,
          (name) =>
            copies[contestant]?.(`from/${name}`, `to/${contestant.length}-${round}/${name}`) ??
            Promise.resolve(),
        ),
      ),
    );
    const work = `${names.length} GET and PUT, ${site.title}`;
    // The first round opens connections and has code compiled.
    const shared = { work, reference: HAND, rounds: rounds.slice(1) };
    lab.compare({ ...shared, time: 'wall', goals: { [OURS]: 1.15 } });
    lab.compare({ ...shared, time: 'processor', goals: { [OURS]: 1.5 } });
  }
}

async function ourCopy(lab: Lab, site: Site, bucket: string): Promise<Copy> {
  const store = await plainStore(lab, { site, bucket });
  return async (from, to) => {
    const stored = await store.get(from as ObjectKey);
    if (typeof stored !== 'object') throw new Error('an object is missing');
    await store.put(to as ObjectKey, stored.body, { mode: 'overwrite' });
  };
}

function sdkCopy(lab: Lab, { server }: Site, bucket: string): Copy {
  const { endpoint, region, accessKeyId, secretAccessKey } = server;
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({ endpoint, region, forcePathStyle: true, credentials });
  lab.stack.defer(() => client.destroy());
  return async (from, to) => {
    const { Body: stream } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: from }));
    const body = (await stream?.transformToByteArray()) ?? new Uint8Array();
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: to, Body: body }));
  };
}
